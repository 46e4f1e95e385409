"""How the confluent-kafka cases make clients, write and read."""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from harness import eventually

EVERYWHERE = {"broker.address.family": "v4", "log_level": 0}


def admin(run):
    """The case's admin client. The case keeps it: a client that is dropped abandons its open calls."""
    if run.admin is None:
        run.admin = AdminClient({"bootstrap.servers": run.bootstrap, **EVERYWHERE})
    return run.admin


def create_topic(run, partitions=1, name=None, **configs):
    """Creates a topic and returns its name. Underscores in config names stand for dots."""
    name = name or run.topic()
    config = {key.replace("_", "."): str(value) for key, value in configs.items()}
    result(admin(run).create_topics([NewTopic(name, partitions, 1, config=config)], request_timeout=15), name)
    # A broker may answer before all of it knows the topic.
    eventually(lambda: known_partitions(run, name) == partitions, f"{partitions} partitions in the metadata", pause=0.02)
    return name


def known_partitions(run, topic):
    """How many partitions with a leader the broker's metadata has. It asks for all topics: by name would create it."""
    found = admin(run).list_topics(timeout=10).topics.get(topic)
    return sum(p.leader >= 0 for p in found.partitions.values()) if found else 0


def result(futures, key):
    """The outcome of one entry of an admin call."""
    return futures[key].result(timeout=20)


def producer(run, **configs):
    return Producer({"bootstrap.servers": run.bootstrap, "linger.ms": 2, **EVERYWHERE, **dotted(configs)})


def dotted(configs):
    """Underscores stand for dots, but in the names of callbacks."""
    return {key if key.endswith("_cb") else key.replace("_", "."): value for key, value in configs.items()}


def send(client, topic, value=None, **fields):
    """Produces one record, waits for its delivery, and returns the delivered message."""
    return send_all(client, topic, [{"value": value, **fields}])[0]


def send_all(client, topic, records, timeout=30):
    """Produces records (dicts of produce() arguments) and returns their delivery reports in order."""
    reports = [None] * len(records)
    errors = []

    def on_delivery(index):
        def delivered(error, message):
            reports[index] = message
            if error is not None:
                errors.append(error)

        return delivered

    for index, record in enumerate(records):
        client.produce(topic, on_delivery=on_delivery(index), **record)
    left = client.flush(timeout)
    if errors:
        raise KafkaException(errors[0])
    assert left == 0, f"{left} records not delivered"
    return reports


def consumer(run, group=None, **configs):
    settings = {
        "bootstrap.servers": run.bootstrap,
        "group.id": group or run.group(),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "fetch.wait.max.ms": 200,
        "fetch.error.backoff.ms": 50,
        **EVERYWHERE,
        **dotted(configs),
    }
    client = Consumer(settings)
    run.at_end(client.close)
    return client


def reader(run, topic, partitions=1, offset=OFFSET_BEGINNING, **configs):
    """A consumer with the partitions assigned by hand."""
    client = consumer(run, **configs)
    client.assign([TopicPartition(topic, partition, offset) for partition in range(partitions)])
    return client


def take(client, count, timeout=20):
    """Polls until `count` records are there."""
    taken = []
    deadline = time.monotonic() + timeout
    while len(taken) < count:
        message = client.poll(0.1)
        if message is not None:
            if message.error():
                raise KafkaException(message.error())
            taken.append(message)
        assert time.monotonic() < deadline, f"{len(taken)} of {count} records in {timeout} s"
    return taken


def nothing(client, seconds=0.6):
    """Fails if a record arrives within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        message = client.poll(0.1)
        assert message is None or message.error(), f"unexpected record {message.value()!r} at {message.offset()}"


def read(run, topic, count, partitions=1, **configs):
    """All records of a topic, which must be exactly `count`."""
    client = reader(run, topic, partitions, **configs)
    taken = take(client, count)
    nothing(client, 0.3)
    return taken


def values(messages):
    return [message.value() for message in messages]


def expect_code(code, function, *arguments):
    """Calls and demands a KafkaException with this broker error code."""
    try:
        outcome = function(*arguments)
    except KafkaException as error:
        actual = error.args[0]
        assert actual.code() == code, f"error {actual.code()} ({actual.str()}), expected {code}"
        return actual
    raise AssertionError(f"no error, expected code {code}: got {outcome!r}")
