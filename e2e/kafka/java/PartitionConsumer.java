import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Consume throughput without a group: reads all partitions of a topic from the start until it has seen RECORDS records.
 * What it counts is what Kafka's ConsumerPerformance counts (which needs a group).
 * usage: PartitionConsumer BOOTSTRAP TOPIC RECORDS [KEY=VALUE ...]      prints one JSON line
 */
public class PartitionConsumer {
    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("key.deserializer", ByteArrayDeserializer.class.getName());
        properties.put("value.deserializer", ByteArrayDeserializer.class.getName());
        // As ConsumerPerformance sets them.
        properties.put("receive.buffer.bytes", "2097152");
        properties.put("fetch.max.bytes", "52428800");
        properties.put("max.partition.fetch.bytes", "1048576");
        properties.put("auto.offset.reset", "earliest");
        for (int i = 3; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            properties.put(args[i].substring(0, equals), args[i].substring(equals + 1));
        }
        String topic = args[1];
        long wanted = Long.parseLong(args[2]);
        long records = 0;
        long bytes = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            List<TopicPartition> partitions = new ArrayList<>();
            consumer.partitionsFor(topic).forEach(info -> partitions.add(new TopicPartition(topic, info.partition())));
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long startedAt = System.nanoTime();
            long progressAt = startedAt;
            while (records < wanted) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(Duration.ofMillis(100));
                if (!batch.isEmpty()) progressAt = System.nanoTime();
                else if (System.nanoTime() - progressAt > 30_000_000_000L) throw new IllegalStateException("only " + records + " records arrived");
                for (ConsumerRecord<byte[], byte[]> record : batch) {
                    records++;
                    if (record.key() != null) bytes += record.key().length;
                    if (record.value() != null) bytes += record.value().length;
                }
            }
            double seconds = (System.nanoTime() - startedAt) / 1e9;
            System.out.printf(Locale.ROOT, "{\"records\":%d,\"bytes\":%d,\"seconds\":%.3f}%n", records, bytes, seconds);
        }
    }
}
