import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.TimeoutException;

/** Partitions, offsets, seeking, flow, lag, errors. */
final class Places {
    static void register() {
        Harness.add("partitions.chosen_partition", Places::chosenPartition);
        Harness.add("partitions.order_per_partition", Places::orderPerPartition);
        Harness.add("partitions.same_key_same_partition", Places::sameKeySamePartition);
        Harness.add("partitions.many", Places::manyPartitions);
        Harness.add("partitions.unknown_partition", Places::unknownPartition);
        Harness.add("offsets.in_sequence", Places::inSequence);
        Harness.add("offsets.watermarks", Places::watermarks);
        Harness.add("offsets.reset_earliest", Places::resetEarliest);
        Harness.add("offsets.reset_latest", Places::resetLatest);
        Harness.add("offsets.reset_none", Places::resetNone);
        Harness.add("offsets.out_of_range", Places::outOfRange);
        Harness.add("offsets.commit_and_resume", Places::commitAndResume);
        Harness.add("offsets.commit_metadata", Places::commitMetadata);
        Harness.add("offsets.committed_none", Places::committedNone);
        Harness.add("offsets.auto_commit", Places::autoCommit);
        Harness.add("seek.offset", Places::seekOffset);
        Harness.add("seek.beginning_end", Places::seekBeginningEnd);
        Harness.add("seek.timestamp", Places::seekTimestamp);
        Harness.add("seek.middle_of_batch", Places::seekMiddleOfBatch);
        Harness.add("flow.pause_resume", Places::pauseResume);
        Harness.add("flow.long_poll", Places::longPoll);
        Harness.add("flow.quiet_fetch_waits", Places::quietFetchWaits);
        Harness.add("lag.lag", Places::lag);
        Harness.add("errors.unknown_topic", Places::unknownTopic);
        Harness.add("errors.invalid_topic_name", run -> {
            Check.fails(InvalidTopicException.class, () -> Kit.send(Kit.producer(run), "not a name", "x"));
            var reading = Kit.consumer(run, null);
            reading.assign(Kit.places("not a name", 1));
            Check.fails(InvalidTopicException.class, () -> Kit.take(reading, 1));
        });
    }

    static void commit(KafkaConsumer<byte[], byte[]> client, String topic, Map<Integer, Integer> offsets) {
        var wanted = new HashMap<TopicPartition, OffsetAndMetadata>();
        offsets.forEach((p, o) -> wanted.put(new TopicPartition(topic, p), new OffsetAndMetadata(o)));
        client.commitSync(wanted);
    }

    static Long committed(KafkaConsumer<byte[], byte[]> client, String topic, int partition) {
        var where = new TopicPartition(topic, partition);
        var found = client.committed(Set.of(where)).get(where);
        return found == null ? null : found.offset();
    }

    static KafkaConsumer<byte[], byte[]> from(Run run, String topic, long offset, Object... configs) {
        var client = Kit.consumer(run, null, configs);
        client.assign(Kit.places(topic, 1));
        client.seek(Kit.place(topic), offset);
        return client;
    }

    private static String filled(Run run, int count) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, null, count));
        return topic;
    }

    private static void chosenPartition(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        Kit.send(Kit.producer(run), Kit.record(topic, 2, null, "here"));
        var got = Kit.read(run, topic, 1, 4);
        Check.equal(got.get(0).partition(), 2, "partition");
        Check.equal(Kit.at(got), List.of("0=here"), "record");
    }

    private static void orderPerPartition(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        var records = IntStream.range(0, 1000).mapToObj(i -> Kit.record(topic, i % 4, null, "" + i)).toList();
        Kit.sendAll(Kit.producer(run), records);
        var got = Kit.read(run, topic, 1000, 4);
        for (int p = 0; p < 4; p++) {
            int partition = p;
            var mine = Kit.at(got.stream().filter(r -> r.partition() == partition).toList());
            var expected = IntStream.range(0, 250).mapToObj(n -> n + "=" + (n * 4 + partition)).toList();
            Check.equal(mine, expected, "partition " + p);
        }
    }

    private static void sameKeySamePartition(Run run) throws Exception {
        var topic = Kit.createTopic(run, 4);
        Kit.sendAll(Kit.producer(run), IntStream.range(0, 100)
                .mapToObj(i -> new ProducerRecord<>(topic, Kit.bytes("k" + i % 10), Kit.bytes("v"))).toList());
        var homes = new TreeMap<String, Set<Integer>>();
        Kit.read(run, topic, 100, 4)
                .forEach(r -> homes.computeIfAbsent(Kit.text(r.key()), k -> new HashSet<>()).add(r.partition()));
        Check.equal(homes.size(), 10, "keys");
        Check.that(homes.values().stream().allMatch(home -> home.size() == 1), "a key in several partitions " + homes);
        Check.that(new HashSet<>(homes.values()).size() > 1, "all keys in one partition");
    }

    private static void manyPartitions(Run run) throws Exception {
        var topic = Kit.createTopic(run, 64);
        Kit.sendAll(Kit.producer(run), IntStream.range(0, 64).mapToObj(p -> Kit.record(topic, p, null, "" + p)).toList());
        var got = Kit.read(run, topic, 64, 64);
        Check.that(got.stream().allMatch(r -> Kit.text(r.value()).equals("" + r.partition())), "records elsewhere");
        Check.equal(got.stream().map(r -> r.partition()).distinct().count(), 64L, "partitions");
    }

    private static void unknownPartition(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        Kit.send(Kit.producer(run), Kit.record(topic, 1, null, "known"));
        var client = Kit.producer(run, "max.block.ms", 2000);
        Check.fails(TimeoutException.class, () -> Kit.send(client, Kit.record(topic, 7, null, "x")));
        Check.equal(Kit.values(Kit.read(run, topic, 1, 2)), List.of("known"), "records");
    }

    private static void inSequence(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var placed = Kit.sendAll(Kit.producer(run), Kit.numbered(topic, null, 100));
        Check.equal(placed.stream().map(m -> m.offset()).toList(), LongStream.range(0, 100).boxed().toList(), "offsets");
        Check.equal(Kit.at(Kit.read(run, topic, 100, 1)), Kit.range(0, 100), "records");
    }

    private static void watermarks(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var client = Kit.consumer(run, null);
        var where = Kit.places(topic, 1);
        Check.equal(client.endOffsets(where), Map.of(where.get(0), 0L), "end when empty");
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, null, 7));
        Check.equal(client.beginningOffsets(where), Map.of(where.get(0), 0L), "beginning");
        Check.equal(client.endOffsets(where), Map.of(where.get(0), 7L), "end");
    }

    private static void resetEarliest(Run run) throws Exception {
        var topic = filled(run, 5);
        var client = Kit.consumer(run, run.group());
        client.subscribe(List.of(topic));
        Check.equal(Kit.at(Kit.take(client, 5)), Kit.range(0, 5), "records");
    }

    private static void resetLatest(Run run) throws Exception {
        var topic = filled(run, 1);
        var client = Kit.consumer(run, run.group(), "auto.offset.reset", "latest");
        client.assign(Kit.places(topic, 1));
        Kit.nothing(client, 800);
        Kit.send(Kit.producer(run), topic, "after");
        Check.equal(Kit.at(Kit.take(client, 1)), List.of("1=after"), "records");
    }

    private static void resetNone(Run run) throws Exception {
        var topic = filled(run, 1);
        var client = Kit.consumer(run, run.group(), "auto.offset.reset", "none");
        client.assign(Kit.places(topic, 1));
        Check.fails(NoOffsetForPartitionException.class, () -> Kit.take(client, 1));
        Check.equal(Kit.at(Kit.read(run, topic, 1, 1)), Kit.range(0, 1), "records");
    }

    private static void outOfRange(Run run) throws Exception {
        var topic = filled(run, 3);
        var error = Check.fails(OffsetOutOfRangeException.class,
                () -> Kit.take(from(run, topic, 1000, "auto.offset.reset", "none"), 1));
        Check.equal(error.offsetOutOfRangePartitions(), Map.of(Kit.place(topic), 1000L), "where");
        Check.equal(Kit.at(Kit.take(from(run, topic, 1000), 3)), Kit.range(0, 3), "after the reset");
    }

    private static void commitAndResume(Run run) throws Exception {
        var topic = filled(run, 10);
        var group = run.group();
        var first = Kit.consumer(run, group, "max.poll.records", 4);
        first.subscribe(List.of(topic));
        Check.equal(Kit.at(Kit.take(first, 4)), Kit.range(0, 4), "first reads");
        first.commitSync();
        first.close();
        var second = Kit.consumer(run, group);
        second.subscribe(List.of(topic));
        Check.equal(Kit.at(Kit.take(second, 6)), Kit.range(4, 10), "second reads");
    }

    private static void commitMetadata(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var group = run.group();
        var sent = new OffsetAndMetadata(42, java.util.Optional.of(3), "why: заметка");
        Kit.consumer(run, group).commitSync(Map.of(Kit.place(topic), sent));
        var got = Kit.consumer(run, group).committed(Set.of(Kit.place(topic)));
        Check.equal(got, Map.of(Kit.place(topic), sent), "committed");
    }

    private static void committedNone(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        var client = Kit.consumer(run, run.group());
        commit(client, topic, Map.of(1, 5));
        Check.equal(committed(client, topic, 0), null, "partition 0");
        Check.equal(committed(client, topic, 1), 5L, "partition 1");
    }

    private static void autoCommit(Run run) throws Exception {
        var topic = filled(run, 6);
        var group = run.group();
        var client = Kit.consumer(run, group, "enable.auto.commit", true, "auto.commit.interval.ms", 60000);
        client.subscribe(List.of(topic));
        Kit.take(client, 6);
        client.close();
        Check.equal(committed(Kit.consumer(run, group), topic, 0), 6L, "committed");
    }

    private static void seekOffset(Run run) throws Exception {
        var topic = filled(run, 20);
        var client = Kit.reader(run, topic, 1);
        Kit.take(client, 20);
        client.seek(Kit.place(topic), 13);
        Check.equal(Kit.at(Kit.take(client, 7)), Kit.range(13, 20), "records");
    }

    private static void seekBeginningEnd(Run run) throws Exception {
        var topic = filled(run, 5);
        var client = Kit.reader(run, topic, 1);
        Kit.take(client, 5);
        client.seekToBeginning(client.assignment());
        Check.equal(Kit.at(Kit.take(client, 5)), Kit.range(0, 5), "from the beginning");
        client.seekToEnd(client.assignment());
        Check.equal(client.position(Kit.place(topic)), 5L, "position at the end");
        Kit.send(Kit.producer(run), topic, "later");
        Check.equal(Kit.at(Kit.take(client, 1)), List.of("5=later"), "from the end");
    }

    private static void seekTimestamp(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        long start = System.currentTimeMillis() - 100_000;
        Kit.sendAll(Kit.producer(run),
                IntStream.range(0, 10).mapToObj(i -> Kit.record(topic, 0, start + i * 1000, "" + i)).toList());
        var client = Kit.reader(run, topic, 1);
        var found = client.offsetsForTimes(Map.of(Kit.place(topic), start + 5500)).get(Kit.place(topic));
        Check.equal(found.timestamp() - start, 6000L, "timestamp found");
        client.seek(Kit.place(topic), found.offset());
        Check.equal(Kit.at(Kit.take(client, 4)), Kit.range(6, 10), "records");
    }

    private static void seekMiddleOfBatch(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.sendAll(Kit.producer(run, "linger.ms", 500, "compression.type", "gzip"), Kit.numbered(topic, null, 100));
        Check.equal(Kit.at(Kit.take(from(run, topic, 57), 43)), Kit.range(57, 100), "records");
    }

    private static void pauseResume(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        var client = Kit.reader(run, topic, 2);
        var sender = Kit.producer(run);
        Kit.sendAll(sender, List.of(Kit.record(topic, 0, null, "0"), Kit.record(topic, 1, null, "0")));
        Kit.take(client, 2);
        client.pause(Kit.places(topic, 1));
        Kit.sendAll(sender, List.of(Kit.record(topic, 0, null, "1"), Kit.record(topic, 1, null, "1")));
        Check.equal(Kit.take(client, 1).get(0).partition(), 1, "partition while the other is paused");
        Kit.nothing(client, 600);
        client.resume(Kit.places(topic, 1));
        var got = Kit.take(client, 1);
        Check.equal(got.get(0).partition() + ":" + Kit.at(got), "0:[1=1]", "resumed");
    }

    private static void longPoll(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var client = Kit.reader(run, topic, 1, "fetch.max.wait.ms", 20000);
        var sender = Kit.producer(run, "linger.ms", 0);
        Kit.send(sender, topic, "warm");
        Kit.take(client, 1);
        for (int i = 1; i <= 3; i++) {
            Kit.nothing(client, 400);
            long started = System.nanoTime();
            Kit.send(sender, topic, "late");
            Check.equal(Kit.at(Kit.take(client, 1)), List.of(i + "=late"), "record");
            double waited = (System.nanoTime() - started) / 1e9;
            Check.that(waited < 5, "a record took " + waited + " s of a fetch wait of 20 s");
        }
    }

    private static void quietFetchWaits(Run run) throws Exception {
        var topic = filled(run, 1);
        var client = Kit.reader(run, topic, 1, "fetch.max.wait.ms", 500);
        Kit.take(client, 1);
        double before = metric(client, "fetch-total");
        for (int i = 0; i < 6; i++) {
            Check.that(client.poll(Duration.ofMillis(500)).isEmpty(), "records in an empty topic");
        }
        double fetches = metric(client, "fetch-total") - before;
        Check.that(fetches >= 2 && fetches <= 14, fetches + " fetches of an empty topic in 3 s with a wait of 500 ms");
    }

    private static double metric(KafkaConsumer<byte[], byte[]> client, String name) {
        return client.metrics().entrySet().stream()
                .filter(e -> e.getKey().name().equals(name) && !e.getKey().tags().containsKey("topic"))
                .mapToDouble(e -> (Double) e.getValue().metricValue()).sum();
    }

    private static void lag(Run run) throws Exception {
        var topic = Kit.createTopic(run, 2);
        var group = run.group();
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, 0, 10));
        Kit.sendAll(Kit.producer(run), Kit.numbered(topic, 1, 4));
        commit(Kit.consumer(run, group), topic, Map.of(0, 3, 1, 4));
        var stored = Kit.done(run.admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
        var ends = Kit.consumer(run, null).endOffsets(Kit.places(topic, 2));
        var found = ends.entrySet().stream().map(e -> e.getKey().partition() + "=" + (e.getValue()
                - stored.get(e.getKey()).offset())).sorted().toList();
        Check.equal(found, List.of("0=7", "1=0"), "lag");
    }

    private static void unknownTopic(Run run) throws Exception {
        var topic = run.topic();
        Kit.createTopic(run, 1);
        var client = Kit.consumer(run, run.group(), "allow.auto.create.topics", false, "default.api.timeout.ms", 2000);
        Check.fails(TimeoutException.class, () -> client.endOffsets(Kit.places(topic, 1)));
        client.subscribe(List.of(topic));
        Kit.nothing(client, 500);
        Check.equal(client.listTopics().containsKey(topic), false, "the topic was created");
    }

    private Places() {}
}
