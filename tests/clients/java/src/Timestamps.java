import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.record.TimestampType;

/** Timestamps and lookups by them. */
final class Timestamps {
    private static final List<Integer> UNSORTED = List.of(10, 50, 20, 40, 30);

    static void register() {
        Harness.add("timestamps.create_time", run -> {
            var topic = Kit.createTopic(run, 1, "retention.ms", -1); // The record is old enough to be deleted otherwise.
            Kit.send(Kit.producer(run), Kit.record(topic, 0, 1_600_000_000_123L, "x"));
            var got = Kit.read(run, topic, 1, 1).get(0);
            Check.equal(got.timestampType() + " " + got.timestamp(), "CreateTime 1600000000123", "timestamp");
        });
        Harness.add("timestamps.unsorted", run -> {
            var topic = Kit.createTopic(run, 1);
            long start = base();
            write(run, topic, start, UNSORTED);
            lookups(run, topic, start, "0:0@10 10:0@10 11:1@50 25:1@50 45:1@50 50:1@50 51:none");
        });
        Harness.add("timestamps.inside_compressed_batch", run -> {
            var topic = Kit.createTopic(run, 1);
            long start = base();
            var rising = IntStream.range(0, 50).map(i -> i * 10).boxed().toList();
            write(run, topic, start, rising, "linger.ms", 500, "compression.type", "gzip");
            var late = UNSORTED.stream().map(i -> 1000 + i).toList();
            write(run, topic, start, late, "linger.ms", 500, "compression.type", "lz4");
            lookups(run, topic, start, "0:0@0 1:1@10 250:25@250 255:26@260 490:49@490 491:50@1010 1011:51@1050 1051:none");
        });
        Harness.add("timestamps.across_batches", run -> {
            var topic = Kit.createTopic(run, 1);
            long start = base();
            write(run, topic, start, IntStream.range(0, 100).map(i -> i * 100).boxed().toList());
            lookups(run, topic, start, "50:1@100 3250:33@3300 4950:50@5000 9750:98@9800 9850:99@9900 9901:none");
        });
        Harness.add("timestamps.across_files", Timestamps::acrossFiles);
        Harness.add("timestamps.beyond_end", run -> {
            var topic = Kit.createTopic(run, 1);
            long start = base();
            write(run, topic, start, List.of(0, 5));
            lookups(run, topic, start, "5:1@5 6:none 10000000:none");
        });
        Harness.add("timestamps.max_timestamp", run -> {
            var topic = Kit.createTopic(run, 1);
            long start = base();
            write(run, topic, start, UNSORTED);
            var answer = run.admin().listOffsets(Map.of(Kit.place(topic), OffsetSpec.maxTimestamp()));
            var found = Kit.done(answer.partitionResult(Kit.place(topic)));
            Check.equal(found.offset() + "@" + (found.timestamp() - start), "1@50", "largest timestamp");
        });
        Harness.add("timestamps.log_append_time", run -> {
            var topic = Kit.createTopic(run, 1, "message.timestamp.type", "LogAppendTime");
            long before = System.currentTimeMillis();
            var placed = Kit.send(Kit.producer(run), Kit.record(topic, 0, 1_600_000_000_000L, "x"));
            var got = Kit.read(run, topic, 1, 1).get(0);
            Check.equal(got.timestampType(), TimestampType.LOG_APPEND_TIME, "type");
            Check.that(Math.abs(got.timestamp() - before) < 5000, "timestamp " + got.timestamp());
            Check.equal(placed.timestamp(), got.timestamp(), "acknowledged timestamp");
        });
    }

    private static long base() {
        return System.currentTimeMillis() - 3_600_000;
    }

    /** One batch each, or all in one if the producer lingers. */
    private static void write(Run run, String topic, long start, List<Integer> stamps, Object... configs)
            throws Exception {
        var client = Kit.producer(run, configs);
        var records = stamps.stream().map(stamp -> Kit.record(topic, 0, start + stamp, "" + stamp)).toList();
        if (configs.length > 0) {
            Kit.sendAll(client, records);
            return;
        }
        for (var record : records) {
            Kit.send(client, record);
        }
    }

    /** Expects "after:offset@timestamp" or "after:none" for each, all times relative to `start`. */
    private static void lookups(Run run, String topic, long start, String expected) {
        var client = Kit.consumer(run, null);
        var found = Arrays.stream(expected.split(" ")).map(one -> {
            long after = Long.parseLong(one.substring(0, one.indexOf(':')));
            var hit = client.offsetsForTimes(Map.of(Kit.place(topic), start + after)).get(Kit.place(topic));
            return after + ":" + (hit == null ? "none" : hit.offset() + "@" + (hit.timestamp() - start));
        }).toList();
        Check.equal(String.join(" ", found), expected, "lookups");
    }

    private static void acrossFiles(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        long start = base();
        var value = Records.large(400_000, 31);
        Kit.sendAll(Kit.producer(run), IntStream.range(0, 45)
                .mapToObj(i -> new ProducerRecord<>(topic, 0, start + i * 1000, (byte[]) null, value)).toList());
        var expected = IntStream.range(1, 45).mapToObj(i -> (i * 1000 - 1) + ":" + i + "@" + i * 1000).toList();
        lookups(run, topic, start, String.join(" ", expected) + " 44001:none");
    }

    private Timestamps() {}
}
