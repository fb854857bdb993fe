import java.io.BufferedOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads topics by partition, for the crash suite.
 * usage: LogReader BOOTSTRAP all|follow TOPIC:PARTITIONS [TOPIC:PARTITIONS ...]
 *   all: from the start of each log to its end; follow: from the start on, until standard input ends
 * prints: r TOPIC PARTITION OFFSET CRC32_OF_VALUE FIRST_WORD SECOND_WORD      a record
 *         l TOPIC PARTITION LOG_START_OFFSET LOG_END_OFFSET                   all: before the records
 */
public class LogReader {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("auto.offset.reset", "earliest");
        p.put("reconnect.backoff.max.ms", "200");
        p.put("default.api.timeout.ms", "120000");
        p.put("metadata.recovery.strategy", "none");
        boolean isFollowing = args[1].equals("follow");
        List<TopicPartition> partitions = new ArrayList<>();
        for (int i = 2; i < args.length; i++) {
            int colon = args[i].lastIndexOf(':');
            for (int n = Integer.parseInt(args[i].substring(colon + 1)); n > 0; n--) {
                partitions.add(new TopicPartition(args[i].substring(0, colon), n - 1));
            }
        }
        PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, StandardCharsets.UTF_8);
        Thread stop = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException e) {
                // the end of input, too
            }
        });
        stop.setDaemon(true);
        stop.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            consumer.assign(partitions);
            Map<TopicPartition, Long> ends = Map.of();
            if (!isFollowing) {
                Map<TopicPartition, Long> starts = consumer.beginningOffsets(partitions);
                ends = consumer.endOffsets(partitions);
                for (TopicPartition tp : partitions) {
                    out.println("l " + tp.topic() + " " + tp.partition() + " " + starts.get(tp) + " " + ends.get(tp));
                    consumer.seek(tp, starts.get(tp));
                }
            }
            CRC32 crc = new CRC32();
            long progressAt = System.nanoTime();
            while (isFollowing ? stop.isAlive() : !isAtEnd(consumer, ends)) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    crc.reset();
                    crc.update(record.value());
                    out.println("r " + record.topic() + " " + record.partition() + " " + record.offset() + " "
                        + crc.getValue() + " " + firstWords(record.value()));
                }
                out.flush();
                if (!records.isEmpty()) progressAt = System.nanoTime();
                else if (!isFollowing && System.nanoTime() - progressAt > 60_000_000_000L) {
                    throw new IllegalStateException("nothing was read for 60 s although the logs go on");
                }
            }
        }
        out.flush();
    }

    private static boolean isAtEnd(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Long> ends) {
        for (Map.Entry<TopicPartition, Long> end : ends.entrySet()) {
            if (consumer.position(end.getKey()) < end.getValue()) return false;
        }
        return true;
    }

    private static String firstWords(byte[] value) {
        String text = new String(value, 0, Math.min(value.length, 80), StandardCharsets.US_ASCII);
        String[] words = text.split(" ", 3);
        return words.length < 2 ? "- " + text : words[0] + " " + words[1];
    }
}
