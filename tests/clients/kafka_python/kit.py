"""How the kafka-python cases make clients, write and read."""

import logging
import time

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

logging.disable(logging.CRITICAL)  # Cases provoke errors; what matters reaches them as exceptions.

QUICK = {"reconnect_backoff_ms": 10, "retry_backoff_ms": 30, "bootstrap_timeout_ms": 15000}


def admin(run):
    if run.admin is None:
        run.admin = KafkaAdminClient(bootstrap_servers=run.bootstrap, request_timeout_ms=15000, **QUICK)
        run.at_end(run.admin.close)
    return run.admin


def create_topic(run, partitions=1, name=None, **configs):
    """Creates a topic and returns its name. Underscores in config names stand for dots."""
    name = name or run.topic()
    config = {key.replace("_", "."): str(value) for key, value in configs.items()}
    request = {name: {"num_partitions": partitions, "replication_factor": 1, "configs": config}}
    admin(run).create_topics(request, timeout_ms=15000, wait_for_metadata=True)
    return name


def producer(run, **configs):
    client = KafkaProducer(**{"bootstrap_servers": run.bootstrap, "linger_ms": 2, **QUICK, **configs})
    run.at_end(lambda: client.close(timeout=2))
    return client


def send(client, topic, value=None, **fields):
    """Produces one record and returns where it went."""
    return send_all(client, topic, [{"value": value, **fields}])[0]


def send_all(client, topic, records, timeout=30):
    """Produces records (dicts of send() arguments) and returns where they went, in order."""
    futures = [client.send(topic, **record) for record in records]
    client.flush(timeout)
    return [future.get(timeout) for future in futures]


def consumer(run, group=None, **configs):
    settings = {
        "bootstrap_servers": run.bootstrap,
        "group_id": group or run.group(),
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "fetch_max_wait_ms": 200,
        **QUICK,
        **configs,
    }
    client = KafkaConsumer(**settings)
    run.at_end(lambda: client.close(timeout_ms=2000))
    return client


def reader(run, topic, partitions=1, offset=None, **configs):
    """A consumer with the partitions assigned by hand, from the beginning or from an offset."""
    client = consumer(run, **configs)
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    client.assign(places)
    if offset is None:
        client.seek_to_beginning(*places)
    else:
        for place in places:
            client.seek(place, offset)
    return client


def poll(client, seconds=3.0):
    """The records of one poll, of all partitions. It returns as soon as there are some.

    The time is long because a poll that times out between JoinGroup and the answer of SyncGroup makes kafka-python 3.0
    forget the assignment: it then neither joins again nor reads.
    """
    return [record for records in client.poll(timeout_ms=int(seconds * 1000)).values() for record in records]


def take(client, count, timeout=20):
    """Polls until `count` records are there, and fails if there are more."""
    taken = []
    deadline = time.monotonic() + timeout
    while len(taken) < count:
        taken += poll(client)
        assert time.monotonic() < deadline, f"{len(taken)} of {count} records in {timeout} s"
    assert len(taken) == count, f"{len(taken)} records, expected {count}"
    return taken


def nothing(client, seconds=0.6):
    """Fails if a record arrives within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        records = poll(client, deadline - time.monotonic())
        assert not records, f"unexpected record {records[0].value!r} at {records[0].offset}"


def read(run, topic, count, partitions=1, **configs):
    """All records of a topic, which must be exactly `count`."""
    client = reader(run, topic, partitions, **configs)
    taken = take(client, count)
    nothing(client, 0.3)
    return taken


def values(records):
    return [record.value for record in records]


def expect(error, function, *arguments, **named):
    """Calls and demands this error class."""
    try:
        outcome = function(*arguments, **named)
    except error as raised:
        return raised
    raise AssertionError(f"no {error}: got {outcome!r}")
