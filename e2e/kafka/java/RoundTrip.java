import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.Random;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * End-to-end latency in microseconds, in a closed loop: one record is sent, then read back, and again. Kafka's own
 * EndToEndLatency rounds to milliseconds.
 * usage: RoundTrip BOOTSTRAP TOPIC RECORDS WARM_UP_RECORDS ACKS RECORD_BYTES      prints one JSON line
 */
public class RoundTrip {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int count = Integer.parseInt(args[2]);
        int warmUp = Integer.parseInt(args[3]);
        Properties producing = new Properties();
        producing.put("bootstrap.servers", args[0]);
        producing.put("acks", args[4]);
        producing.put("linger.ms", "0");
        producing.put("key.serializer", ByteArraySerializer.class.getName());
        producing.put("value.serializer", ByteArraySerializer.class.getName());
        Properties consuming = new Properties();
        consuming.put("bootstrap.servers", args[0]);
        consuming.put("auto.offset.reset", "latest");
        consuming.put("key.deserializer", ByteArrayDeserializer.class.getName());
        consuming.put("value.deserializer", ByteArrayDeserializer.class.getName());
        byte[] value = new byte[Integer.parseInt(args[5])];
        new Random(1).nextBytes(value);
        Histogram endToEnd = new Histogram(60_000_000L, 3);
        Histogram acknowledged = new Histogram(60_000_000L, 3);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(producing);
             KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(consuming)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToEnd(partitions);
            partitions.forEach(consumer::position);
            for (int i = 0; i < count + warmUp; i++) {
                long sentAt = System.nanoTime();
                producer.send(new ProducerRecord<>(topic, value)).get();
                long acknowledgedAt = System.nanoTime();
                long limit = sentAt + 30_000_000_000L;
                int seen = 0;
                while (seen == 0) {
                    seen = consumer.poll(Duration.ofSeconds(1)).count();
                    if (seen == 0 && System.nanoTime() > limit) throw new IllegalStateException("record " + i + " did not arrive within 30 s");
                }
                long arrivedAt = System.nanoTime();
                if (i < warmUp) continue;
                acknowledged.recordValue((acknowledgedAt - sentAt) / 1000);
                endToEnd.recordValue((arrivedAt - sentAt) / 1000);
            }
        }
        System.out.printf(Locale.ROOT, "{\"endToEndUs\":%s,\"acknowledgedUs\":%s}%n", summary(endToEnd), summary(acknowledged));
    }

    private static String summary(Histogram h) {
        return String.format(Locale.ROOT, "{\"p50\":%d,\"p99\":%d,\"p999\":%d,\"max\":%d}",
            h.getValueAtPercentile(50), h.getValueAtPercentile(99), h.getValueAtPercentile(99.9), h.getMaxValue());
    }
}
