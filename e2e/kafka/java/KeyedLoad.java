import java.util.Locale;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Updates of random keys at a steady rate, with the time from each send to its acknowledgement, but for those of the first
 * three seconds, in which the virtual machine warms up. (ProducerPerformance sends no keys, which compacted topics want.)
 * usage: KeyedLoad BOOTSTRAP TOPIC KEYS RECORDS VALUE_BYTES BYTES_PER_SECOND      0: as fast as it goes; prints one JSON line
 */
public class KeyedLoad {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int keys = Integer.parseInt(args[2]);
        long records = Long.parseLong(args[3]);
        int valueBytes = Integer.parseInt(args[4]);
        double bytesPerSecond = Double.parseDouble(args[5]);
        Properties producing = new Properties();
        producing.put("bootstrap.servers", args[0]);
        producing.put("acks", "all");
        producing.put("linger.ms", "5");
        producing.put("batch.size", "65536");
        producing.put("key.serializer", ByteArraySerializer.class.getName());
        producing.put("value.serializer", ByteArraySerializer.class.getName());
        Random random = new Random();
        byte[] value = new byte[valueBytes];
        random.nextBytes(value);
        Histogram acknowledged = new ConcurrentHistogram(600_000_000L, 3);
        AtomicReference<Exception> failure = new AtomicReference<>();
        long bytes = 0;
        long startedAt = System.nanoTime();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(producing)) {
            for (long i = 0; i < records && failure.get() == null; i++) {
                byte[] key = ("key-" + random.nextInt(keys)).getBytes();
                bytes += key.length + valueBytes;
                if (bytesPerSecond > 0) {
                    long dueAt = startedAt + (long) (bytes / bytesPerSecond * 1e9);
                    long early = dueAt - System.nanoTime();
                    if (early > 1_000_000) Thread.sleep(early / 1_000_000);
                }
                long sentAt = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, key, value), (metadata, error) -> {
                    if (error != null) failure.compareAndSet(null, error);
                    else if (sentAt - startedAt > 3_000_000_000L) acknowledged.recordValue(Math.min((System.nanoTime() - sentAt) / 1000, 600_000_000L));
                });
            }
        }
        if (failure.get() != null) throw failure.get();
        double seconds = (System.nanoTime() - startedAt) / 1e9;
        System.out.printf(Locale.ROOT, "{\"mbPerSecond\":%.2f,\"p50Us\":%d,\"p99Us\":%d,\"maxUs\":%d}%n", bytes / 1e6 / seconds,
            acknowledged.getValueAtPercentile(50), acknowledged.getValueAtPercentile(99), acknowledged.getMaxValue());
    }
}
