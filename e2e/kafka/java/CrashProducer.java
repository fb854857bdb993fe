public class CrashProducer { }
