"""Partitions, offsets, timestamps, groups, flow, errors."""

import re
import time

from harness import case, equal, eventually
from kit import (
    Running, committed, consume, consume_json, create_topic, kcat, now_ms, produce, produce_stamped, refused, span,
)

UNSORTED = [10, 50, 20, 40, 30]
EARLIEST = ("-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=300")


def filled(run, count):
    topic = create_topic(run)
    produce(run, topic, range(count))
    return topic


def query(run, topic, what, partition=0):
    """The offset that kcat finds for a timestamp, or for -1 (end) and -2 (beginning)."""
    said = kcat(run, "-Q", "-t", f"{topic}:{partition}:{what}").out.decode()
    found = re.search(rf"{re.escape(topic)} \[{partition}\] offset (-?\d+)", said)
    assert found, f"no offset in: {said}"
    return int(found.group(1))


@case("partitions.chosen_partition")
def chosen_partition(run):
    topic = create_topic(run, 4)
    produce(run, topic, ["here"], "-p", "2")
    equal(consume(run, topic, 1, form="%p:%o=%s\\n"), ["2:0=here"], "record")


@case("partitions.order_per_partition")
def order_per_partition(run):
    topic = create_topic(run, 4)
    for partition in range(4):
        produce(run, topic, range(250), "-p", str(partition))
    found = consume(run, topic, 1000, form="%p %o=%s\\n")
    for partition in range(4):
        equal([one[2:] for one in found if one[0] == str(partition)], span(0, 250), f"partition {partition}")


@case("partitions.same_key_same_partition")
def same_key_same_partition(run):
    topic = create_topic(run, 4)
    produce(run, topic, [f"k{i % 10}:v" for i in range(100)], "-K:")
    homes = {}
    for line in consume(run, topic, 100, form="%k %p\\n"):
        key, partition = line.split()
        homes.setdefault(key, set()).add(partition)
    equal(len(homes), 10, "keys")
    assert all(len(home) == 1 for home in homes.values()), homes
    assert len(set.union(*homes.values())) > 1, "all keys in one partition"


@case("partitions.unknown_partition")
def unknown_partition(run):
    topic = create_topic(run, 2)
    produce(run, topic, ["known"], "-p", "1")
    refused(run, "-P", "-t", topic, "-p", "7", saying="Unknown partition")
    equal(consume(run, topic, 1), ["0=known"], "records")


@case("offsets.in_sequence")
def in_sequence(run):
    equal(consume(run, filled(run, 100), 100), span(0, 100), "records")


@case("offsets.watermarks")
def watermarks(run):
    topic = filled(run, 7)
    equal((query(run, topic, -2), query(run, topic, -1)), (0, 7), "earliest and latest")


@case("offsets.reset_earliest")
def reset_earliest(run):
    topic = filled(run, 5)
    equal(kcat(run, *EARLIEST, "-q", "-c", "5", "-f", "%o=%s\\n", "-G", run.group(), topic).lines(), span(0, 5))


@case("offsets.reset_latest")
def reset_latest(run):
    topic = filled(run, 1)
    reader = Running(run, "-X", "auto.offset.reset=latest", "-f", "%o=%s\\n", "-G", run.group(), topic)
    eventually(lambda: any("Reached end" in line for line in reader.err), "the end of the partition")
    produce(run, topic, ["after"])
    eventually(lambda: reader.out, "a record")
    equal(reader.out, ["1=after"], "records")


@case("offsets.reset_none")
def reset_none(run):
    topic = filled(run, 1)
    arguments = ["-X", "auto.offset.reset=error", "-c", "1", "-f", "%o=%s\\n", "-G", run.group(), topic]
    done = kcat(run, *arguments, demand=False)
    assert done.code != 0 and "no previously committed offset" in done.err.lower(), f"{done.code}: {done.err[-300:]}"
    equal(consume(run, topic, 1), span(0, 1), "records")


@case("offsets.out_of_range")
def out_of_range(run):
    topic = filled(run, 3)
    refused(run, "-C", "-t", topic, "-o", "1000", "-e", "-X", "auto.offset.reset=error", saying="Offset out of range")
    equal(consume(run, topic, 3, "-o", "1000", "-X", "auto.offset.reset=earliest"), span(0, 3), "after the reset")


@case("offsets.commit_and_resume")
def commit_and_resume(run):
    topic, group = filled(run, 10), run.group()
    first = kcat(run, *EARLIEST, "-q", "-c", "4", "-f", "%o=%s\\n", "-G", group, topic)
    equal(first.lines(), span(0, 4), "first reads")
    second = kcat(run, *EARLIEST, "-q", "-c", "6", "-f", "%o=%s\\n", "-G", group, topic)
    equal(second.lines(), span(4, 10), "second reads")


@case("offsets.auto_commit")
def auto_commit(run):
    topic, group = filled(run, 6), run.group()
    kcat(run, *EARLIEST, "-q", "-c", "6", "-G", group, topic)
    equal(committed(run, group, topic), 6, "committed")


@case("seek.offset")
def seek_offset(run):
    equal(consume(run, filled(run, 20), 7, "-o", "13"), span(13, 20), "records")


@case("seek.beginning_end")
def seek_beginning_end(run):
    topic = filled(run, 5)
    equal(consume(run, topic, 5, "-o", "beginning"), span(0, 5), "from the beginning")
    equal(consume(run, topic, 2, "-o", "-2"), span(3, 5), "the last two")
    reader = Running(run, "-C", "-t", topic, "-o", "end", "-f", "%o=%s\\n")
    eventually(lambda: any("Reached end" in line for line in reader.err), "the end of the partition")
    produce(run, topic, ["later"])
    eventually(lambda: reader.out, "a record")
    equal(reader.out, ["5=later"], "from the end")


@case("seek.timestamp")
def seek_timestamp(run):
    topic, start = create_topic(run), now_ms() - 100_000
    produce_stamped(run, topic, [[start + i * 1000] for i in range(10)])
    found = consume(run, topic, 2, "-o", f"s@{start + 5500}", "-o", f"e@{start + 7500}", form="%o %T\\n")
    equal(found, [f"6 {start + 6000}", f"7 {start + 7000}"], "from 5.5 s to before 7.5 s")


@case("seek.middle_of_batch")
def middle_of_batch(run):
    topic = create_topic(run)
    produce(run, topic, range(100), "-z", "gzip", "-X", "linger.ms=500")
    equal(consume(run, topic, 43, "-o", "57"), span(57, 100), "records")


def lookups(run, topic, start, expected):
    found = {after: query(run, topic, start + after) for after in expected}
    equal(found, expected, "offsets by timestamp")


@case("timestamps.create_time")
def create_time(run):
    topic = create_topic(run)
    before = now_ms()
    produce(run, topic, ["x"])
    got = consume_json(run, topic)[0]
    equal(got["tstype"], "create", "type")
    assert before - 2000 <= got["ts"] <= now_ms() + 2000, got


@case("timestamps.unsorted")
def unsorted(run):
    topic, start = create_topic(run), now_ms() - 3_600_000
    produce_stamped(run, topic, [[start + stamp] for stamp in UNSORTED])
    lookups(run, topic, start, {0: 0, 11: 1, 45: 1, 50: 1, 51: -1})


@case("timestamps.inside_compressed_batch")
def inside_compressed_batch(run):
    topic, start = create_topic(run), now_ms() - 3_600_000
    produce_stamped(run, topic, [[start + i * 10 for i in range(50)]], compression_type="gzip")
    produce_stamped(run, topic, [[start + 1000 + stamp for stamp in UNSORTED]], compression_type="lz4")
    lookups(run, topic, start, {1: 1, 255: 26, 491: 50, 1011: 51, 1051: -1})


@case("timestamps.beyond_end")
def beyond_end(run):
    topic, start = create_topic(run), now_ms() - 3_600_000
    produce_stamped(run, topic, [[start], [start + 5]])
    lookups(run, topic, start, {5: 1, 6: -1})


@case("timestamps.log_append_time")
def log_append_time(run):
    topic = create_topic(run, message_timestamp_type="LogAppendTime")
    produce_stamped(run, topic, [[1_600_000_000_000]])
    got = consume_json(run, topic)[0]
    equal(got["tstype"], "logappend", "type")
    assert abs(got["ts"] - now_ms()) < 10_000, got


def member(run, group, topic, *arguments):
    return Running(run, *EARLIEST, "-f", "%p-%o\\n", *arguments, "-G", group, topic)


def partitions(one):
    """The partitions of the last assignment that kcat told."""
    told = [line for line in one.err if "rebalanced" in line]
    return re.findall(r"\[(\d+)\]", told[-1]) if told and "assigned" in told[-1] else []


def shared(one, other, count):
    mine, theirs = partitions(one), partitions(other)
    return len(mine) == len(theirs) and sorted(map(int, mine + theirs)) == list(range(count))


def fill(run, topic, count):
    for partition in range(count):
        produce(run, topic, range(10), "-p", str(partition))
    return sorted(f"{p}-{i}" for p in range(count) for i in range(10))


@case("groups.one_member")
def one_member(run):
    topic = create_topic(run, 3)
    sent = fill(run, topic, 3)
    only = member(run, run.group(), topic)
    eventually(lambda: len(only.out) >= 30, "all records")
    equal(sorted(only.out), sent, "records")
    equal(sorted(partitions(only)), ["0", "1", "2"], "assignment")


@case("groups.members_share")
def members_share(run):
    topic, group = create_topic(run, 4), run.group()
    one, other = member(run, group, topic), member(run, group, topic)
    eventually(lambda: shared(one, other, 4), "an even share", 25)
    sent = fill(run, topic, 4)
    eventually(lambda: len(one.out + other.out) >= 40, "all records", 25)
    equal(sorted(one.out + other.out), sent, "records")


@case("groups.join_rebalances")
def join_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    first = member(run, group, topic)
    eventually(lambda: len(partitions(first)) == 4, "the first has all", 25)
    second = member(run, group, topic)
    eventually(lambda: shared(first, second, 4), "both have some", 25)
    assert any("revoked" in line for line in first.err), "nothing was revoked"


@case("groups.leave_rebalances")
def leave_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    long = ("-X", "session.timeout.ms=40000")
    stay, leave = member(run, group, topic, *long), member(run, group, topic, *long)
    eventually(lambda: shared(stay, leave, 4), "both have some", 25)
    leave.stop()
    eventually(lambda: len(partitions(stay)) == 4, "the first has all, long before the session timeout", 25)


@case("groups.death_rebalances")
def death_rebalances(run):
    topic, group = create_topic(run, 4), run.group()
    heir, doomed = member(run, group, topic), member(run, group, topic)
    eventually(lambda: shared(heir, doomed, 4), "both have some", 25)
    killed = time.monotonic()
    doomed.process.kill()
    eventually(lambda: len(partitions(heir)) == 4, "the heir has all", 25)
    assert time.monotonic() - killed > 3, "the dead member was gone before its session could end"


@case("groups.static_member_fenced")
def static_member_fenced(run):
    topic, group = create_topic(run, 2), run.group()
    instance = ("-X", "group.instance.id=only")
    old = member(run, group, topic, *instance)
    eventually(lambda: len(partitions(old)) == 2, "the old one has all", 25)
    fresh = member(run, group, topic, *instance)
    eventually(lambda: len(partitions(fresh)) == 2, "the new one has all", 25)
    eventually(lambda: any("fenced" in line.lower() for line in old.err), "the old one is told", 25)


@case("groups.eager_roundrobin")
def eager_roundrobin(run):
    topics, group = [create_topic(run, 3) for _ in range(2)], run.group()
    strategy = ("-X", "partition.assignment.strategy=roundrobin", "-f", "%p-%o\\n", "-G", group, *topics)
    one, other = Running(run, *EARLIEST, *strategy), Running(run, *EARLIEST, *strategy)
    eventually(lambda: len(partitions(one)) == len(partitions(other)) == 3, "three partitions each", 25)
    equal(sorted(partitions(one) + partitions(other)), ["0", "0", "1", "1", "2", "2"], "all partitions")


@case("groups.two_groups")
def two_groups(run):
    topic = create_topic(run, 2)
    sent = fill(run, topic, 2)
    members = [member(run, run.group(), topic) for _ in range(2)]
    eventually(lambda: all(len(m.out) >= 20 for m in members), "all records in both", 25)
    for one in members:
        equal(sorted(one.out), sent, "records")


@case("flow.long_poll")
def long_poll(run):
    topic = filled(run, 1)
    reader = Running(run, "-C", "-t", topic, "-X", "fetch.wait.max.ms=20000", "-f", "%o=%s\\n")
    eventually(lambda: reader.out, "the first record")
    for round_number in range(1, 4):
        time.sleep(0.4)
        started = time.monotonic()
        produce(run, topic, [round_number])
        eventually(lambda n=round_number: len(reader.out) == n + 1, "the record", 20, pause=0.02)
        waited = time.monotonic() - started
        assert waited < 6, f"a record took {waited:.1f} s of a fetch wait of 20 s"
    equal(reader.out, span(0, 4), "records")


@case("lag.lag")
def lag(run):
    topic, group = filled(run, 10), run.group()
    kcat(run, *EARLIEST, "-q", "-c", "3", "-G", group, topic)
    equal(query(run, topic, -1) - committed(run, group, topic), 7, "lag")


@case("errors.unknown_topic")
def unknown_topic(run):
    create_topic(run)
    topic = run.topic()
    refused(
        run, "-C", "-t", topic, "-e", "-X", "allow.auto.create.topics=false", "-X", "topic.metadata.propagation.max.ms=500",
        saying="Unknown topic or partition",
    )


@case("errors.invalid_topic_name")
def invalid_topic_name(run):
    refused(run, "-P", "-t", "not a name", saying="Invalid topic")
