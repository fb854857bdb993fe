# usage: python3 confluent_python.py BOOTSTRAP       confluent-kafka (librdkafka in Python) as an interop worker
# One JSON request a line on standard input, one JSON answer a line on standard output: see e2e/interop/client.ts.
import base64
import hashlib
import json
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

bootstrap = {"bootstrap.servers": sys.argv[1], "client.id": "interop-confluent-python"}
admin = AdminClient(dict(bootstrap))
whole_value_bytes = 65536


def to_bytes(value):
    if value is None:
        return None
    if isinstance(value, dict):
        with open(value["file"], "rb") as file:
            return file.read()
    return base64.b64decode(value)


def to_text(data):
    if data is None:
        return None
    if len(data) <= whole_value_bytes:
        return base64.b64encode(data).decode()
    return "sha256:%s:%d" % (hashlib.sha256(data).hexdigest(), len(data))


def write(r):
    acks = r.get("acks", "all")
    producer = Producer(
        {
            **bootstrap,
            "compression.codec": r["codec"],
            "enable.idempotence": r.get("idempotent", False),
            "acks": -1 if acks == "all" else int(acks),
            "linger.ms": 50,
            "message.max.bytes": 33554432,
            "message.timeout.ms": 30000,
        }
    )
    offsets = [None] * len(r["records"])
    errors = []

    def report(index):
        def delivered(error, message):
            if error is not None:
                errors.append(error)
            else:
                offsets[index] = message.offset()

        return delivered

    for index, record in enumerate(r["records"]):
        extra = {"timestamp": record["timestamp"]} if record.get("timestamp") is not None else {}
        producer.produce(
            r["topic"],
            partition=r["partition"],
            key=to_bytes(record.get("key")),
            value=to_bytes(record.get("value")),
            headers=[(key, to_bytes(value)) for key, value in record.get("headers", [])],
            on_delivery=report(index),
            **extra,
        )
    left = producer.flush(40)
    if errors:
        raise KafkaException(errors[0])
    if left:
        raise RuntimeError("%d records were not delivered" % left)
    return {"offsets": offsets}


consumer = None


def reader():
    global consumer
    if consumer is None:
        consumer = Consumer(
            {
                **bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "check.crcs": True,
                "fetch.message.max.bytes": 16777216,
                "fetch.max.bytes": 33554432,
                "receive.message.max.bytes": 67108864,
            }
        )
    return consumer


def read(r):
    client = reader()
    client.assign([TopicPartition(r["topic"], r["partition"], r["offset"])])
    records = []
    end = time.monotonic() + r["timeoutMs"] / 1000
    while len(records) < r["count"] and time.monotonic() < end:
        message = client.poll(0.2)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        kind, timestamp = message.timestamp()
        records.append(
            {
                "offset": message.offset(),
                "timestamp": timestamp,
                "timestampType": {1: "CreateTime", 2: "LogAppendTime"}.get(kind, "NoTimestampType"),
                "key": to_text(message.key()),
                "value": to_text(message.value()),
                "headers": [[key, to_text(value)] for key, value in message.headers() or []],
            }
        )
    client.unassign()
    return {"records": records}


def create_topic(r):
    placement = (
        {"replica_assignment": r["assignments"]}
        if r.get("assignments")
        else {"replication_factor": r.get("replicationFactor", -1)}
    )
    count = len(r["assignments"]) if r.get("assignments") else r.get("partitions", -1)
    topic = NewTopic(r["topic"], count, config=r.get("config", {}), **placement)
    wait(admin.create_topics([topic], validate_only=r.get("validateOnly", False), operation_timeout=10))


def wait(futures):
    return [future.result(20) for future in futures.values()]


def describe_topic(r):
    topic = admin.list_topics(r["topic"], timeout=10).topics[r["topic"]]
    if topic.error is not None:
        raise KafkaException(topic.error)
    partitions = [
        {"partition": p.id, "leader": p.leader, "replicas": list(p.replicas)}
        for p in sorted(topic.partitions.values(), key=lambda p: p.id)
    ]
    return {"partitions": partitions}


def resource(r):
    return ConfigResource(ConfigResource.Type.BROKER if r.get("broker") else ConfigResource.Type.TOPIC, r["topic"])


def describe_config(r):
    entries = wait(admin.describe_configs([resource(r)]))[0]
    sources = {1: "DYNAMIC_TOPIC_CONFIG", 2: "DYNAMIC_BROKER_CONFIG", 3: "DYNAMIC_DEFAULT_BROKER_CONFIG", 4: "STATIC_BROKER_CONFIG", 5: "DEFAULT_CONFIG"}
    return {
        name: {"value": e.value, "source": sources.get(e.source, str(e.source)), "readOnly": bool(e.is_read_only)}
        for name, e in entries.items()
    }


def alter_config(r):
    # The old request, which replaces all settings of the topic.
    changed = ConfigResource(ConfigResource.Type.TOPIC, r["topic"])
    if r["value"] is not None:
        changed.set_config(r["key"], r["value"])
    wait(admin.alter_configs([changed]))


def list_offset(r):
    partition = TopicPartition(r["topic"], r["partition"])
    if r["at"] in ("earliest", "latest"):
        low, high = reader().get_watermark_offsets(partition, timeout=10)
        return {"offset": low if r["at"] == "earliest" else high}
    partition.offset = int(r["at"])
    found = reader().offsets_for_times([partition], timeout=10)[0]
    if found.error is not None:
        raise KafkaException(found.error)
    return {"offset": found.offset}


def describe_cluster(_):
    metadata = admin.list_topics(timeout=10)
    nodes = [{"id": b.id, "host": b.host, "port": b.port} for b in metadata.brokers.values()]
    return {"clusterId": metadata.cluster_id, "nodes": nodes}


operations = {
    "write": write,
    "read": read,
    "createTopic": create_topic,
    "createPartitions": lambda r: wait(
        admin.create_partitions([NewPartitions(r["topic"], r["count"])], validate_only=r.get("validateOnly", False))
    ),
    "deleteTopic": lambda r: wait(admin.delete_topics([r["topic"]], operation_timeout=10)),
    "listTopics": lambda _: sorted(admin.list_topics(timeout=10).topics),
    "describeTopic": describe_topic,
    "describeConfig": describe_config,
    "alterConfig": alter_config,
    "listOffset": list_offset,
    "describeCluster": describe_cluster,
}


def kafka_error(error):
    if isinstance(error, KafkaException) and error.args and isinstance(error.args[0], KafkaError):
        return error.args[0].name(), error.args[0].str()
    return type(error).__name__, str(error)


for line in sys.stdin:
    request = json.loads(line)
    try:
        result = operations[request["op"]](request)
        answer = {"id": request["id"], "ok": {} if result is None else result}
    except Exception as error:  # every failure is an answer to the suite, which judges it
        name, text = kafka_error(error)
        answer = {"id": request["id"], "error": {"kafka": name, "message": text}}
    print(json.dumps(answer), flush=True)
if consumer is not None:
    consumer.close()
