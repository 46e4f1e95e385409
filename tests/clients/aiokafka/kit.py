"""How the aiokafka cases make clients, write and read."""

import asyncio
import logging
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code

logging.disable(logging.CRITICAL)  # Cases provoke errors; what matters reaches them as exceptions.


async def admin(run):
    if run.admin is None:
        run.admin = AIOKafkaAdminClient(bootstrap_servers=run.bootstrap, request_timeout_ms=15000)
        await run.admin.start()
        run.at_end(run.admin.close)
    return run.admin


def demand(code, what):
    """Raises the error of a code in an answer."""
    if code:
        raise for_code(code)(what)


async def create(run, name, partitions=1, validate_only=False, **configs):
    """Creates a topic, or raises what the broker answers. Underscores in config names stand for dots."""
    config = {key.replace("_", "."): str(value) for key, value in configs.items()}
    topic = NewTopic(name, partitions, 1, topic_configs=config)
    answer = await (await admin(run)).create_topics([topic], validate_only=validate_only)
    assert [error[0] for error in answer.topic_errors] == [name], answer
    demand(answer.topic_errors[0][1], name)


async def create_topic(run, partitions=1, name=None, **configs):
    """Creates a topic, waits until the broker knows it, and returns its name."""
    name = name or run.topic()
    await create(run, name, partitions, **configs)

    async def ready():
        found = (await describe(run, name))["partitions"]
        return len([p for p in found if p["leader"] >= 0]) == partitions

    await eventually(ready, "partitions in the metadata")
    return name


async def describe(run, name):
    found = await (await admin(run)).describe_topics([name])
    assert [topic["topic"] for topic in found] == [name], found
    return found[0]


async def producer(run, **configs):
    client = AIOKafkaProducer(**{"bootstrap_servers": run.bootstrap, "linger_ms": 2, "retry_backoff_ms": 30, **configs})
    run.at_end(client.stop)
    await client.start()
    return client


async def send(run, topic, value=None, **fields):
    """Produces one record with a new client and returns where it went."""
    return await (await producer(run)).send_and_wait(topic, value, **fields)


async def send_all(client, topic, records):
    """Produces records (dicts of send() arguments) and returns where they went, in order."""
    futures = [await client.send(topic, **record) for record in records]
    return [await future for future in futures]


async def consumer(run, group=None, topics=(), **configs):
    settings = {
        "bootstrap_servers": run.bootstrap,
        "group_id": group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "fetch_max_wait_ms": 200,
        "retry_backoff_ms": 30,
        **configs,
    }
    client = AIOKafkaConsumer(*topics, **settings)
    run.at_end(client.stop)
    await client.start()
    return client


async def reader(run, topic, partitions=1, offset=None, **configs):
    """A consumer with the partitions assigned by hand, from the beginning or from an offset."""
    client = await consumer(run, **configs)
    places = [TopicPartition(topic, partition) for partition in range(partitions)]
    client.assign(places)
    if offset is None:
        await client.seek_to_beginning(*places)
    else:
        for place in places:
            client.seek(place, offset)
    return client


async def poll(client, seconds=0.1):
    found = await client.getmany(timeout_ms=int(seconds * 1000))
    return [record for records in found.values() for record in records]


async def take(client, count, timeout=20):
    """Polls until `count` records are there, and fails if there are more."""
    taken = []
    deadline = time.monotonic() + timeout
    while len(taken) < count:
        taken += await poll(client)
        assert time.monotonic() < deadline, f"{len(taken)} of {count} records in {timeout} s"
    assert len(taken) == count, f"{len(taken)} records, expected {count}"
    return taken


async def nothing(client, seconds=0.6):
    """Fails if a record arrives within `seconds`."""
    records = await poll(client, seconds)
    assert not records, f"unexpected record {records[0].value!r} at {records[0].offset}"


async def read(run, topic, count, partitions=1):
    """All records of a topic, which must be exactly `count`."""
    client = await reader(run, topic, partitions)
    taken = await take(client, count)
    await nothing(client, 0.3)
    return taken


def values(records):
    return [record.value for record in records]


def at(records):
    return [(r.offset, int(r.value)) for r in records]


async def expect(error, awaitable):
    """Awaits and demands this error class."""
    try:
        outcome = await awaitable
    except error as raised:
        return raised
    raise AssertionError(f"no {error}: got {outcome!r}")


async def eventually(check, what, seconds=15.0, pause=0.05):
    """Calls `check`, plain or asynchronous, until it returns something true."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if asyncio.iscoroutine(result):
            result = await result
        if result:
            return result
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        await asyncio.sleep(pause)
