public class LogReader { }
