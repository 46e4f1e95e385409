"""Partitions, offsets, seeking, flow, lag."""

import json
import time

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, TopicPartition
from harness import case, equal, eventually
from kit import consumer, create_topic, expect_code, nothing, producer, read, reader, send, send_all, take, values


def numbered(count, **fields):
    return [{"value": f"{i}".encode(), **fields} for i in range(count)]


@case("partitions.chosen_partition")
def chosen_partition(run):
    topic = create_topic(run, 4)
    send(producer(run), topic, b"here", partition=2)
    got = read(run, topic, 1, partitions=4)[0]
    equal((got.partition(), got.offset(), got.value()), (2, 0, b"here"))


@case("partitions.order_per_partition")
def order_per_partition(run):
    topic = create_topic(run, 4)
    send_all(producer(run), topic, [{"value": f"{i}".encode(), "partition": i % 4} for i in range(1000)])
    got = read(run, topic, 1000, partitions=4)
    for partition in range(4):
        mine = [(m.offset(), int(m.value())) for m in got if m.partition() == partition]
        equal(mine, [(n, n * 4 + partition) for n in range(250)], f"partition {partition}")


@case("partitions.same_key_same_partition")
def same_key_same_partition(run):
    topic = create_topic(run, 4)
    send_all(producer(run), topic, [{"key": f"k{i % 10}", "value": b"v"} for i in range(100)])
    homes = {}
    for message in read(run, topic, 100, partitions=4):
        homes.setdefault(message.key(), set()).add(message.partition())
    equal(len(homes), 10, "keys")
    assert all(len(home) == 1 for home in homes.values()), homes
    assert len(set.union(*homes.values())) > 1, "all keys in one partition"


@case("partitions.many")
def many(run):
    topic = create_topic(run, 64)
    send_all(producer(run), topic, [{"value": f"{p}".encode(), "partition": p} for p in range(64)])
    equal({m.partition(): int(m.value()) for m in read(run, topic, 64, partitions=64)}, {p: p for p in range(64)})


@case("partitions.unknown_partition")
def unknown_partition(run):
    topic = create_topic(run, 2)
    send(producer(run), topic, b"known", partition=1)
    expect_code(
        KafkaError._UNKNOWN_PARTITION, lambda: send(producer(run, message_timeout_ms=4000), topic, b"x", partition=7)
    )
    equal(values(read(run, topic, 1, partitions=2)), [b"known"], "records")


@case("offsets.in_sequence")
def in_sequence(run):
    topic = create_topic(run)
    reports = send_all(producer(run), topic, numbered(100))
    equal([m.offset() for m in reports], list(range(100)), "acknowledged")
    equal([(m.offset(), int(m.value())) for m in read(run, topic, 100)], [(i, i) for i in range(100)], "read")


@case("offsets.watermarks")
def watermarks(run):
    topic = create_topic(run)
    client = consumer(run)
    where = TopicPartition(topic, 0)
    equal(client.get_watermark_offsets(where, timeout=10), (0, 0), "empty")
    send_all(producer(run), topic, numbered(7))
    equal(client.get_watermark_offsets(where, timeout=10), (0, 7), "after 7")


@case("offsets.reset_earliest")
def reset_earliest(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(5))
    client = consumer(run)
    client.subscribe([topic])
    equal([int(v) for v in values(take(client, 5))], list(range(5)))


@case("offsets.reset_latest")
def reset_latest(run):
    topic = create_topic(run)
    send(producer(run), topic, b"before")
    client = reader(run, topic, offset=OFFSET_INVALID, auto_offset_reset="latest")
    nothing(client, 1.0)
    send(producer(run), topic, b"after")
    got = take(client, 1)[0]
    equal((got.offset(), got.value()), (1, b"after"))


@case("offsets.reset_none")
def reset_none(run):
    topic = create_topic(run)
    send(producer(run), topic, b"x")
    client = reader(run, topic, offset=OFFSET_INVALID, auto_offset_reset="error")
    expect_code(KafkaError._AUTO_OFFSET_RESET, take, client, 1)
    equal(values(read(run, topic, 1)), [b"x"], "records")


@case("offsets.out_of_range")
def out_of_range(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(3))
    failing = reader(run, topic, offset=1000, auto_offset_reset="error")
    expect_code(KafkaError._AUTO_OFFSET_RESET, take, failing, 1)
    equal(len(take(reader(run, topic, offset=1000, auto_offset_reset="earliest"), 3)), 3, "after the reset")


@case("offsets.commit_and_resume")
def commit_and_resume(run):
    topic, group = create_topic(run), run.group()
    send_all(producer(run), topic, numbered(10))
    first = consumer(run, group)
    first.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    for message in take(first, 4):
        first.commit(message, asynchronous=False)
    first.close()
    second = consumer(run, group)
    second.subscribe([topic])
    equal([int(v) for v in values(take(second, 6))], list(range(4, 10)))


@case("offsets.commit_metadata")
def commit_metadata(run):
    topic, group = create_topic(run), run.group()
    client = consumer(run, group)
    client.commit(offsets=[TopicPartition(topic, 0, 42, metadata="why: заметка")], asynchronous=False)
    got = consumer(run, group).committed([TopicPartition(topic, 0)], timeout=10)[0]
    equal((got.offset, got.metadata), (42, "why: заметка"))


@case("offsets.committed_none")
def committed_none(run):
    topic, group = create_topic(run, 2), run.group()
    client = consumer(run, group)
    client.commit(offsets=[TopicPartition(topic, 1, 5)], asynchronous=False)
    got = client.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=10)
    equal([p.offset for p in got], [OFFSET_INVALID, 5])


@case("offsets.auto_commit")
def auto_commit(run):
    topic, group = create_topic(run), run.group()
    send_all(producer(run), topic, numbered(6))
    client = consumer(run, group, enable_auto_commit=True, auto_commit_interval_ms=60000)
    client.subscribe([topic])
    take(client, 6)
    client.close()
    equal(consumer(run, group).committed([TopicPartition(topic, 0)], timeout=10)[0].offset, 6)


@case("seek.offset")
def seek_offset(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(20))
    client = reader(run, topic)
    take(client, 20)
    client.seek(TopicPartition(topic, 0, 13))
    equal([(m.offset(), int(m.value())) for m in take(client, 7)], [(i, i) for i in range(13, 20)])


@case("seek.beginning_end")
def seek_beginning_end(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(5))
    client = reader(run, topic)
    take(client, 5)
    client.seek(TopicPartition(topic, 0, OFFSET_BEGINNING))
    equal(int(take(client, 5)[0].value()), 0, "first")
    client.seek(TopicPartition(topic, 0, OFFSET_END))
    nothing(client, 1.0)
    send(producer(run), topic, b"later")
    equal(values(take(client, 1)), [b"later"])


@case("seek.timestamp")
def seek_timestamp(run):
    topic = create_topic(run)
    start = int(time.time() * 1000) - 100_000
    for i in range(10):
        send(producer(run), topic, f"{i}", timestamp=start + i * 1000)
    client = reader(run, topic)
    take(client, 1)
    found = client.offsets_for_times([TopicPartition(topic, 0, start + 5500)], timeout=10)[0]
    client.seek(found)
    got = take(client, 4)
    equal([(m.offset(), m.timestamp()[1] - start) for m in got], [(i, i * 1000) for i in range(6, 10)])


@case("seek.middle_of_batch")
def middle_of_batch(run):
    topic = create_topic(run)
    send_all(producer(run, linger_ms=500, compression_type="gzip"), topic, numbered(100))
    got = take(reader(run, topic, offset=57), 43)
    equal([(m.offset(), int(m.value())) for m in got], [(i, i) for i in range(57, 100)])


@case("flow.pause_resume")
def pause_resume(run):
    topic = create_topic(run, 2)
    client = reader(run, topic, 2)
    for partition in range(2):
        send(producer(run), topic, b"first", partition=partition)
    take(client, 2)
    client.pause([TopicPartition(topic, 0)])
    for partition in range(2):
        send(producer(run), topic, b"second", partition=partition)
    equal([(m.partition(), m.value()) for m in take(client, 1)], [(1, b"second")], "while paused")
    nothing(client, 0.6)
    client.resume([TopicPartition(topic, 0)])
    equal([(m.partition(), m.offset(), m.value()) for m in take(client, 1)], [(0, 1, b"second")], "resumed")


@case("flow.long_poll")
def long_poll(run):
    topic = create_topic(run)
    client = reader(run, topic, fetch_wait_max_ms=20000)
    send(producer(run), topic, b"warm")
    take(client, 1)
    for round_number in range(3):
        nothing(client, 0.4)
        sender = producer(run, linger_ms=0)
        started = time.monotonic()
        send(sender, topic, f"{round_number}")
        equal(int(take(client, 1)[0].value()), round_number)
        waited = time.monotonic() - started
        assert waited < 5, f"a record took {waited:.1f} s of a fetch wait of 20 s"


@case("flow.quiet_fetch_waits")
def quiet_fetch_waits(run):
    topic = create_topic(run)
    send(producer(run), topic, b"x")
    fetches = []

    def on_stats(text):
        brokers = json.loads(text)["brokers"].values()
        fetches.append(max(broker.get("req", {}).get("Fetch", 0) for broker in brokers))

    client = reader(run, topic, stats_cb=on_stats, statistics_interval_ms=500, fetch_wait_max_ms=500)
    take(client, 1)
    nothing(client, 3.2)
    assert len(fetches) >= 4, f"{len(fetches)} statistics"
    assert 2 <= fetches[-1] <= 25, f"{fetches[-1]} fetches of an empty topic in 3 s with a wait of 500 ms"


@case("lag.lag")
def lag(run):
    topic, group = create_topic(run, 2), run.group()
    send_all(producer(run), topic, numbered(10, partition=0) + numbered(4, partition=1))
    client = consumer(run, group)
    client.commit(offsets=[TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)], asynchronous=False)
    found = {}
    for committed in client.committed([TopicPartition(topic, p) for p in range(2)], timeout=10):
        end = client.get_watermark_offsets(TopicPartition(topic, committed.partition), timeout=10)[1]
        found[committed.partition] = end - committed.offset
    equal(found, {0: 7, 1: 0}, "lag")


@case("errors.unknown_topic")
def unknown_topic(run):
    known = create_topic(run)
    client = consumer(run, allow_auto_create_topics=False, topic_metadata_refresh_interval_ms=1000)
    send(producer(run), known, b"x")
    topic = run.topic()
    client.subscribe([topic])

    def failing():
        message = client.poll(0.2)
        return message is not None and message.error() and message.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART

    eventually(failing, "UNKNOWN_TOPIC_OR_PART")
    assert topic not in client.list_topics(timeout=10).topics


@case("errors.invalid_topic_name")
def invalid_topic_name(run):
    client = producer(run, message_timeout_ms=5000)
    expect_code(KafkaError.TOPIC_EXCEPTION, send, client, "not a name", b"x")
