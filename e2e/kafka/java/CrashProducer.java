import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A producer that never gives up, for the crash suite: numbered records to every partition in turn, at a steady rate,
 * until standard input ends.
 * usage: CrashProducer BOOTSTRAP NAME IDEMPOTENT CODEC RECORDS_PER_SECOND TOPIC:PARTITIONS [TOPIC:PARTITIONS ...]
 * prints: a TOPIC PARTITION SEQUENCE OFFSET      acknowledged
 *         e TOPIC PARTITION SEQUENCE ERROR       given up
 *         s TOPIC PARTITION COUNT                at the end: how many records were sent
 * A value is "NAME SEQUENCE " and as many letters as the sequence tells (see valueOf in e2e/crash/value.ts).
 */
public class CrashProducer {
    private static final int MAX_OUTSTANDING = 2000;

    public static void main(String[] args) throws Exception {
        String name = args[1];
        boolean idempotent = Boolean.parseBoolean(args[2]);
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("client.id", name);
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("acks", "all");
        p.put("enable.idempotence", Boolean.toString(idempotent));
        // Without idempotence only one request in flight keeps the order.
        p.put("max.in.flight.requests.per.connection", idempotent ? "5" : "1");
        p.put("compression.type", args[3]);
        p.put("linger.ms", "5");
        p.put("delivery.timeout.ms", "600000");
        p.put("request.timeout.ms", "10000");
        p.put("retry.backoff.ms", "50");
        p.put("retry.backoff.max.ms", "200");
        p.put("reconnect.backoff.ms", "20");
        p.put("reconnect.backoff.max.ms", "200");
        p.put("max.block.ms", "600000");
        p.put("metadata.recovery.strategy", "none");
        long perSecond = Long.parseLong(args[4]);
        int topicCount = args.length - 5;
        String[] topics = new String[topicCount];
        long[][] sequences = new long[topicCount][];
        for (int t = 0; t < topicCount; t++) {
            int colon = args[5 + t].lastIndexOf(':');
            topics[t] = args[5 + t].substring(0, colon);
            sequences[t] = new long[Integer.parseInt(args[5 + t].substring(colon + 1))];
        }
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, StandardCharsets.UTF_8);
        Semaphore outstanding = new Semaphore(MAX_OUTSTANDING);
        Thread stop = new Thread(() -> {
            try {
                while (System.in.read() >= 0) { }
            } catch (IOException e) {
                // the end of input, too
            }
        });
        stop.setDaemon(true);
        stop.start();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            long startedAt = System.nanoTime();
            for (long sent = 0; stop.isAlive(); sent++) {
                long waitNanos = startedAt + sent * 1_000_000_000L / perSecond - System.nanoTime();
                if (waitNanos > 0) TimeUnit.NANOSECONDS.sleep(waitNanos);
                int t = (int) (sent % topicCount);
                int partition = (int) (sent / topicCount % sequences[t].length);
                long sequence = sequences[t][partition]++;
                String topic = topics[t];
                outstanding.acquire();
                producer.send(new ProducerRecord<>(topic, partition, null, valueOf(name, sequence)), (metadata, error) -> {
                    outstanding.release();
                    if (error == null) out.println("a " + topic + " " + partition + " " + sequence + " " + metadata.offset());
                    else out.println("e " + topic + " " + partition + " " + sequence + " " + error);
                });
            }
            producer.flush();
        }
        for (int t = 0; t < topicCount; t++) {
            for (int partition = 0; partition < sequences[t].length; partition++) {
                out.println("s " + topics[t] + " " + partition + " " + sequences[t][partition]);
            }
        }
    }

    static byte[] valueOf(String name, long sequence) {
        StringBuilder text = new StringBuilder(name).append(' ').append(sequence).append(' ');
        long letters = 20 + sequence * 7919 % 900;
        for (long i = 0; i < letters; i++) text.append((char) ('a' + (sequence + i) % 26));
        return text.toString().getBytes(StandardCharsets.US_ASCII);
    }
}
