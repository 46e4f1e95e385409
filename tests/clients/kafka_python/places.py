"""Partitions, offsets, seeking, flow, lag."""

import time

from harness import case, equal, eventually
from kafka import OffsetAndMetadata, TopicPartition, errors
from kafka.protocol.metadata import MetadataRequest
from kit import admin, consumer, create_topic, expect, nothing, poll, producer, read, reader, send, send_all, take, values


def numbered(count, **fields):
    return [{"value": f"{i}".encode(), **fields} for i in range(count)]


def commit(client, topic, offsets, metadata=""):
    client.commit({TopicPartition(topic, p): OffsetAndMetadata(o, metadata, -1) for p, o in offsets.items()})


def at(records):
    return [(r.offset, int(r.value)) for r in records]


@case("partitions.chosen_partition")
def chosen_partition(run):
    topic = create_topic(run, 4)
    send(producer(run), topic, b"here", partition=2)
    got = read(run, topic, 1, partitions=4)[0]
    equal((got.partition, got.offset, got.value), (2, 0, b"here"))


@case("partitions.order_per_partition")
def order_per_partition(run):
    topic = create_topic(run, 4)
    send_all(producer(run), topic, [{"value": f"{i}".encode(), "partition": i % 4} for i in range(1000)])
    got = read(run, topic, 1000, partitions=4)
    for partition in range(4):
        mine = at(r for r in got if r.partition == partition)
        equal(mine, [(n, n * 4 + partition) for n in range(250)], f"partition {partition}")


@case("partitions.same_key_same_partition")
def same_key_same_partition(run):
    topic = create_topic(run, 4)
    send_all(producer(run), topic, [{"key": f"k{i % 10}".encode(), "value": b"v"} for i in range(100)])
    homes = {}
    for record in read(run, topic, 100, partitions=4):
        homes.setdefault(record.key, set()).add(record.partition)
    equal(len(homes), 10, "keys")
    assert all(len(home) == 1 for home in homes.values()), homes
    assert len(set.union(*homes.values())) > 1, "all keys in one partition"


@case("partitions.many")
def many(run):
    topic = create_topic(run, 64)
    send_all(producer(run), topic, [{"value": f"{p}".encode(), "partition": p} for p in range(64)])
    equal({r.partition: int(r.value) for r in read(run, topic, 64, partitions=64)}, {p: p for p in range(64)})


@case("partitions.unknown_partition")
def unknown_partition(run):
    topic = create_topic(run, 2)
    send(producer(run), topic, b"known", partition=1)
    client = producer(run, max_block_ms=3000)
    expect((AssertionError, errors.KafkaError, ValueError), send, client, topic, b"x", partition=7)
    equal(values(read(run, topic, 1, partitions=2)), [b"known"], "records")


@case("offsets.in_sequence")
def in_sequence(run):
    topic = create_topic(run)
    placed = send_all(producer(run), topic, numbered(100))
    equal([p.offset for p in placed], list(range(100)), "acknowledged")
    equal(at(read(run, topic, 100)), [(i, i) for i in range(100)], "read")


@case("offsets.watermarks")
def watermarks(run):
    topic = create_topic(run)
    client, where = consumer(run), TopicPartition(topic, 0)

    def ends():
        return client.beginning_offsets([where])[where], client.end_offsets([where])[where]

    equal(ends(), (0, 0), "empty")
    send_all(producer(run), topic, numbered(7))
    equal(ends(), (0, 7), "after 7")


@case("offsets.reset_earliest")
def reset_earliest(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(5))
    client = consumer(run)
    client.subscribe([topic])
    equal(at(take(client, 5)), [(i, i) for i in range(5)])


@case("offsets.reset_latest")
def reset_latest(run):
    topic = create_topic(run)
    send(producer(run), topic, b"before")
    client = consumer(run, auto_offset_reset="latest")
    client.assign([TopicPartition(topic, 0)])
    nothing(client, 1.0)
    send(producer(run), topic, b"after")
    got = take(client, 1)[0]
    equal((got.offset, got.value), (1, b"after"))


@case("offsets.reset_none")
def reset_none(run):
    topic = create_topic(run)
    send(producer(run), topic, b"x")
    client = consumer(run, auto_offset_reset="none")
    client.assign([TopicPartition(topic, 0)])
    expect(errors.NoOffsetForPartitionError, take, client, 1)
    equal(values(read(run, topic, 1)), [b"x"], "records")


@case("offsets.out_of_range")
def out_of_range(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(3))
    failing = reader(run, topic, offset=1000, auto_offset_reset="none")
    expect(errors.OffsetOutOfRangeError, take, failing, 1)
    equal(at(take(reader(run, topic, offset=1000), 3)), [(i, i) for i in range(3)], "after the reset")


@case("offsets.commit_and_resume")
def commit_and_resume(run):
    topic, group = create_topic(run), run.group()
    send_all(producer(run), topic, numbered(10))
    first = consumer(run, group, max_poll_records=4)
    first.subscribe([topic])
    equal(at(take(first, 4)), [(i, i) for i in range(4)], "first reads")
    first.commit()
    first.close()
    second = consumer(run, group)
    second.subscribe([topic])
    equal(at(take(second, 6)), [(i, i) for i in range(4, 10)], "second reads")


@case("offsets.commit_metadata")
def commit_metadata(run):
    topic, group = create_topic(run), run.group()
    commit(consumer(run, group), topic, {0: 42}, "why: заметка")
    got = consumer(run, group).committed(TopicPartition(topic, 0), metadata=True)
    equal((got.offset, got.metadata), (42, "why: заметка"))


@case("offsets.committed_none")
def committed_none(run):
    topic, group = create_topic(run, 2), run.group()
    client = consumer(run, group)
    commit(client, topic, {1: 5})
    equal([client.committed(TopicPartition(topic, p)) for p in range(2)], [None, 5])


@case("offsets.auto_commit")
def auto_commit(run):
    topic, group = create_topic(run), run.group()
    send_all(producer(run), topic, numbered(6))
    client = consumer(run, group, enable_auto_commit=True, auto_commit_interval_ms=60000)
    client.subscribe([topic])
    take(client, 6)
    client.close()
    equal(consumer(run, group).committed(TopicPartition(topic, 0)), 6)


@case("seek.offset")
def seek_offset(run):
    topic = create_topic(run)
    send_all(producer(run), topic, numbered(20))
    client = reader(run, topic)
    take(client, 20)
    client.seek(TopicPartition(topic, 0), 13)
    equal(at(take(client, 7)), [(i, i) for i in range(13, 20)])


@case("seek.beginning_end")
def seek_beginning_end(run):
    topic, where = create_topic(run), None
    send_all(producer(run), topic, numbered(5))
    client, where = reader(run, topic), TopicPartition(topic, 0)
    take(client, 5)
    client.seek_to_beginning(where)
    equal(at(take(client, 5))[0], (0, 0), "first")
    client.seek_to_end(where)
    equal(client.position(where), 5, "position at the end")
    send(producer(run), topic, b"later")
    equal(values(take(client, 1)), [b"later"])


@case("seek.timestamp")
def seek_timestamp(run):
    topic, where = create_topic(run), None
    start = int(time.time() * 1000) - 100_000
    send_all(producer(run), topic, [{"value": b"%d" % i, "timestamp_ms": start + i * 1000} for i in range(10)])
    client, where = reader(run, topic), TopicPartition(topic, 0)
    found = client.offsets_for_times({where: start + 5500})[where]
    equal((found.offset, found.timestamp - start), (6, 6000), "found")
    client.seek(where, found.offset)
    equal([(r.offset, r.timestamp - start) for r in take(client, 4)], [(i, i * 1000) for i in range(6, 10)])


@case("seek.middle_of_batch")
def middle_of_batch(run):
    topic = create_topic(run)
    send_all(producer(run, linger_ms=500, compression_type="gzip"), topic, numbered(100))
    equal(at(take(reader(run, topic, offset=57), 43)), [(i, i) for i in range(57, 100)])


@case("flow.pause_resume")
def pause_resume(run):
    topic = create_topic(run, 2)
    client, sender = reader(run, topic, 2), producer(run)
    send_all(sender, topic, [{"value": b"first", "partition": p} for p in range(2)])
    take(client, 2)
    client.pause(TopicPartition(topic, 0))
    send_all(sender, topic, [{"value": b"second", "partition": p} for p in range(2)])
    equal([(r.partition, r.value) for r in take(client, 1)], [(1, b"second")], "while paused")
    nothing(client, 0.6)
    client.resume(TopicPartition(topic, 0))
    equal([(r.partition, r.offset, r.value) for r in take(client, 1)], [(0, 1, b"second")], "resumed")


@case("flow.long_poll")
def long_poll(run):
    topic = create_topic(run)
    client, sender = reader(run, topic, fetch_max_wait_ms=20000), producer(run, linger_ms=0)
    send(sender, topic, b"warm")
    take(client, 1)
    for round_number in range(3):
        nothing(client, 0.4)
        started = time.monotonic()
        send(sender, topic, b"%d" % round_number)
        equal(int(take(client, 1)[0].value), round_number)
        waited = time.monotonic() - started
        assert waited < 5, f"a record took {waited:.1f} s of a fetch wait of 20 s"


@case("flow.quiet_fetch_waits")
def quiet_fetch_waits(run):
    topic = create_topic(run)
    send(producer(run), topic, b"x")
    client = reader(run, topic, fetch_max_wait_ms=500)
    take(client, 1)

    def fetches():
        found = client.metrics()["consumer-fetch-manager-metrics"]
        return found["fetch-latency-avg"], found["fetch-rate"]

    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        assert not poll(client, 0.5)
    latency, _rate = fetches()
    assert 200 < latency < 2000, f"fetches of an empty topic took {latency} ms on average with a wait of 500 ms"


@case("lag.lag")
def lag(run):
    topic, group = create_topic(run, 2), run.group()
    send_all(producer(run), topic, numbered(10, partition=0) + numbered(4, partition=1))
    client = consumer(run, group)
    commit(client, topic, {0: 3, 1: 4})
    places = [TopicPartition(topic, p) for p in range(2)]
    ends, stored = client.end_offsets(places), admin(run).list_group_offsets({group: None})[group]
    equal({p.partition: ends[p] - stored[p].offset for p in places}, {0: 7, 1: 0}, "lag")


@case("errors.unknown_topic")
def unknown_topic(run):
    send(producer(run), create_topic(run), b"x")
    topic = run.topic()
    # The consumer of 3.0 does not pass its allow_auto_create_topics on, so the client's own protocol classes ask.
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )
    answer = admin(run)._manager.run(admin(run)._manager.send, request)
    equal([t.error_code for t in answer.topics], [errors.UnknownTopicOrPartitionError.errno], "error code")
    assert topic not in admin(run).list_topics(), "the topic was created"


@case("errors.invalid_topic_name")
def invalid_topic_name(run):
    client = consumer(run)
    expect((ValueError, TypeError, errors.InvalidTopicError), client.subscribe, ["not a name"])
    # The client checks names itself, so the broker is asked by the client's own protocol classes.
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="not a name")])
    answer = admin(run)._manager.run(admin(run)._manager.send, request)
    equal([t.error_code for t in answer.topics], [errors.InvalidTopicError.errno], "error code")
