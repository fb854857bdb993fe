import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreatePartitionsOptions;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The Java client as an interop worker: one JSON request a line on standard input, one JSON answer a line on standard
 * output. The requests are described in e2e/interop/client.ts.
 * usage: ClientWorker BOOTSTRAP
 */
public class ClientWorker {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int WHOLE_VALUE_BYTES = 65536;
    private final String bootstrap;
    private final Admin admin;
    private KafkaConsumer<byte[], byte[]> consumer;

    ClientWorker(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        admin = Admin.create(properties);
    }

    public static void main(String[] args) throws IOException {
        ClientWorker worker = new ClientWorker(args[0]);
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            JsonNode request = JSON.readTree(line);
            ObjectNode answer = JSON.createObjectNode();
            answer.set("id", request.get("id"));
            try {
                answer.set("ok", worker.handle(request));
            } catch (Exception e) {
                Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
                ObjectNode error = answer.putObject("error");
                error.put("kafka", Errors.forException(cause).name());
                error.put("message", cause.toString());
            }
            out.println(JSON.writeValueAsString(answer));
        }
        if (worker.consumer != null) worker.consumer.close();
        worker.admin.close();
    }

    private JsonNode handle(JsonNode r) throws Exception {
        switch (r.get("op").asText()) {
            case "write": return write(r);
            case "read": return read(r);
            case "createTopic": return createTopic(r);
            case "createPartitions": {
                CreatePartitionsOptions options = new CreatePartitionsOptions().validateOnly(r.path("validateOnly").asBoolean());
                admin.createPartitions(Map.of(topic(r), NewPartitions.increaseTo(r.get("count").asInt())), options).all().get();
                return JSON.createObjectNode();
            }
            case "deleteTopic": admin.deleteTopics(List.of(topic(r))).all().get(); return JSON.createObjectNode();
            case "listTopics": return JSON.valueToTree(admin.listTopics().names().get());
            case "describeTopic": return describeTopic(r);
            case "describeConfig": return describeConfig(r);
            case "alterConfig": {
                AlterConfigOp op = r.get("value").isNull()
                    ? new AlterConfigOp(new ConfigEntry(r.get("key").asText(), null), AlterConfigOp.OpType.DELETE)
                    : new AlterConfigOp(new ConfigEntry(r.get("key").asText(), r.get("value").asText()), AlterConfigOp.OpType.SET);
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic(r)), List.of(op))).all().get();
                return JSON.createObjectNode();
            }
            case "listOffset": return listOffset(r);
            case "describeCluster": {
                ObjectNode out = JSON.createObjectNode();
                out.put("clusterId", admin.describeCluster().clusterId().get());
                ArrayNode nodes = out.putArray("nodes");
                admin.describeCluster().nodes().get().forEach(n -> nodes.addObject().put("id", n.id()).put("host", n.host()).put("port", n.port()));
                return out;
            }
            default: throw new IllegalArgumentException("unknown op " + r.get("op"));
        }
    }

    private static String topic(JsonNode r) { return r.get("topic").asText(); }

    private JsonNode write(JsonNode r) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("key.serializer", ByteArraySerializer.class.getName());
        p.put("value.serializer", ByteArraySerializer.class.getName());
        p.put("compression.type", r.get("codec").asText());
        p.put("acks", r.path("acks").asText("all"));
        p.put("enable.idempotence", r.path("idempotent").asText("false"));
        p.put("linger.ms", "50");
        p.put("max.request.size", "33554432");
        p.put("max.block.ms", "10000");
        p.put("delivery.timeout.ms", "30000");
        p.put("request.timeout.ms", "15000");
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(p)) {
            for (JsonNode record : r.get("records")) {
                List<Header> headers = new ArrayList<>();
                for (JsonNode h : record.path("headers")) headers.add(new RecordHeader(h.get(0).asText(), bytes(h.get(1))));
                Long timestamp = record.hasNonNull("timestamp") ? record.get("timestamp").asLong() : null;
                sent.add(producer.send(new ProducerRecord<>(topic(r), r.get("partition").asInt(), timestamp,
                    bytes(record.get("key")), bytes(record.get("value")), headers)));
            }
            producer.flush();
            ObjectNode out = JSON.createObjectNode();
            ArrayNode offsets = out.putArray("offsets");
            for (Future<RecordMetadata> one : sent) offsets.add(one.get().offset());
            return out;
        }
    }

    private JsonNode read(JsonNode r) throws Exception {
        if (consumer == null) {
            Properties p = new Properties();
            p.put("bootstrap.servers", bootstrap);
            p.put("key.deserializer", ByteArrayDeserializer.class.getName());
            p.put("value.deserializer", ByteArrayDeserializer.class.getName());
            p.put("auto.offset.reset", "none");
            p.put("fetch.max.wait.ms", "50");
            p.put("fetch.max.bytes", "33554432");
            p.put("max.partition.fetch.bytes", "16777216");
            consumer = new KafkaConsumer<>(p);
        }
        TopicPartition tp = new TopicPartition(topic(r), r.get("partition").asInt());
        consumer.assign(List.of(tp));
        consumer.seek(tp, r.get("offset").asLong());
        int count = r.get("count").asInt();
        long end = System.nanoTime() + r.get("timeoutMs").asLong() * 1_000_000L;
        ObjectNode out = JSON.createObjectNode();
        ArrayNode records = out.putArray("records");
        while (records.size() < count && System.nanoTime() < end) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                ObjectNode o = records.addObject();
                o.put("offset", record.offset());
                o.put("timestamp", record.timestamp());
                o.put("timestampType", record.timestampType().toString());
                o.put("key", text(record.key()));
                o.put("value", text(record.value()));
                ArrayNode headers = o.putArray("headers");
                for (Header h : record.headers()) headers.addArray().add(h.key()).add(text(h.value()));
            }
        }
        consumer.unsubscribe();
        return out;
    }

    private JsonNode createTopic(JsonNode r) throws Exception {
        NewTopic topic;
        if (r.hasNonNull("assignments")) {
            Map<Integer, List<Integer>> assignments = new HashMap<>();
            int partition = 0;
            for (JsonNode replicas : r.get("assignments")) {
                List<Integer> ids = new ArrayList<>();
                replicas.forEach(id -> ids.add(id.asInt()));
                assignments.put(partition++, ids);
            }
            topic = new NewTopic(topic(r), assignments);
        } else {
            Optional<Integer> partitions = r.hasNonNull("partitions") ? Optional.of(r.get("partitions").asInt()) : Optional.empty();
            Optional<Short> factor = r.hasNonNull("replicationFactor") ? Optional.of((short) r.get("replicationFactor").asInt()) : Optional.empty();
            topic = new NewTopic(topic(r), partitions, factor);
        }
        Map<String, String> configs = new HashMap<>();
        r.path("config").properties().forEach(e -> configs.put(e.getKey(), e.getValue().asText()));
        topic.configs(configs);
        admin.createTopics(List.of(topic), new CreateTopicsOptions().validateOnly(r.path("validateOnly").asBoolean())).all().get();
        return JSON.createObjectNode();
    }

    private JsonNode describeTopic(JsonNode r) throws Exception {
        TopicDescription d = admin.describeTopics(List.of(topic(r))).allTopicNames().get().get(topic(r));
        ObjectNode out = JSON.createObjectNode();
        out.put("topicId", d.topicId().toString());
        ArrayNode partitions = out.putArray("partitions");
        d.partitions().forEach(p -> {
            ObjectNode o = partitions.addObject();
            o.put("partition", p.partition());
            o.put("leader", p.leader() == null ? -1 : p.leader().id());
            ArrayNode replicas = o.putArray("replicas");
            p.replicas().forEach(n -> replicas.add(n.id()));
        });
        return out;
    }

    private JsonNode describeConfig(JsonNode r) throws Exception {
        ConfigResource.Type type = r.path("broker").asBoolean() ? ConfigResource.Type.BROKER : ConfigResource.Type.TOPIC;
        ConfigResource resource = new ConfigResource(type, topic(r));
        DescribeConfigsOptions options = new DescribeConfigsOptions().includeSynonyms(true).includeDocumentation(true);
        ObjectNode out = JSON.createObjectNode();
        admin.describeConfigs(List.of(resource), options).all().get().get(resource).entries().forEach(e -> {
            ObjectNode o = out.putObject(e.name());
            o.put("value", e.value());
            o.put("source", e.source().name());
            o.put("type", e.type().name());
            o.put("readOnly", e.isReadOnly());
            o.put("documented", e.documentation() != null && !e.documentation().isEmpty());
            ArrayNode synonyms = o.putArray("synonyms");
            e.synonyms().forEach(s -> synonyms.add(s.source().name() + ":" + s.name() + "=" + s.value()));
        });
        return out;
    }

    private JsonNode listOffset(JsonNode r) throws Exception {
        TopicPartition tp = new TopicPartition(topic(r), r.get("partition").asInt());
        String at = r.get("at").asText();
        OffsetSpec spec = switch (at) {
            case "earliest" -> OffsetSpec.earliest();
            case "latest" -> OffsetSpec.latest();
            case "maxTimestamp" -> OffsetSpec.maxTimestamp();
            default -> OffsetSpec.forTimestamp(Long.parseLong(at));
        };
        var info = admin.listOffsets(Map.of(tp, spec)).partitionResult(tp).get();
        ObjectNode out = JSON.createObjectNode();
        out.put("offset", info.offset());
        out.put("timestamp", info.timestamp());
        info.leaderEpoch().ifPresent(epoch -> out.put("leaderEpoch", epoch));
        return out;
    }

    private static byte[] bytes(JsonNode value) throws IOException {
        if (value == null || value.isNull()) return null;
        if (value.isObject()) return Files.readAllBytes(Path.of(value.get("file").asText()));
        return Base64.getDecoder().decode(value.asText());
    }

    private static String text(byte[] bytes) throws Exception {
        if (bytes == null) return null;
        if (bytes.length <= WHOLE_VALUE_BYTES) return Base64.getEncoder().encodeToString(bytes);
        return "sha256:" + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)) + ":" + bytes.length;
    }
}
