import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** What a record carries, codecs, acks, idempotence, sizes. */
final class Records {
    static void register() {
        for (var codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            Harness.add("codecs." + codec, run -> throughCodec(run, codec));
        }
        Harness.add("codecs.mixed", Records::mixedCodecs);
        Harness.add("idempotence.in_order_once", run -> idempotent(run, run.bootstrap));
        Harness.add("idempotence.retries_once", run -> idempotent(run, run.flaky));
        Harness.add("records.key_and_value",
                run -> roundTrip(run, Kit.bytes("ключ 钥匙"), Kit.bytes("valeur, 值, τιμή 🦀")));
        var everyByte = new byte[256];
        IntStream.range(0, 256).forEach(i -> everyByte[i] = (byte) i);
        Harness.add("records.binary", run -> roundTrip(run, everyByte, everyByte));
        Harness.add("records.null_key", run -> roundTrip(run, null, Kit.bytes("v")));
        Harness.add("records.tombstone", run -> roundTrip(run, Kit.bytes("k"), null));
        Harness.add("records.empty_is_not_null", run -> roundTrip(run, new byte[0], new byte[0]));
        Harness.add("records.headers", Records::headers);
        Harness.add("acks.zero", run -> withAcks(run, "0"));
        Harness.add("acks.one", run -> withAcks(run, "1"));
        Harness.add("acks.all", run -> withAcks(run, "all"));
        Harness.add("large.near_limit", run -> roundTrip(run, null, large(900_000, 7)));
        Harness.add("large.over_limit", Records::overLimit);
        Harness.add("large.topic_limit", Records::topicLimit);
        Harness.add("large.above_fetch_limit", Records::aboveFetchLimit);
    }

    private static void throughCodec(Run run, String codec) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var sent = IntStream.range(0, 200).mapToObj(i -> (codec + " " + i + " ").repeat(20)).toList();
        Kit.sendAll(Kit.producer(run, "compression.type", codec), records(topic, sent));
        Check.equal(Kit.values(Kit.read(run, topic, 200, 1)), sent, "records");
    }

    private static List<ProducerRecord<byte[], byte[]>> records(String topic, List<String> values) {
        return values.stream().map(value -> Kit.record(topic, null, null, value)).toList();
    }

    private static void mixedCodecs(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var sent = new ArrayList<String>();
        for (var codec : List.of("gzip", "none", "zstd", "lz4", "snappy", "gzip")) {
            var batch = IntStream.range(0, 20).mapToObj(i -> (codec + "-" + i).repeat(10)).toList();
            Kit.sendAll(Kit.producer(run, "compression.type", codec), records(topic, batch));
            sent.addAll(batch);
        }
        Check.equal(Kit.values(Kit.read(run, topic, sent.size(), 1)), sent, "records");
    }

    private static void idempotent(Run run, String bootstrap) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var client = Kit.producer(run, "bootstrap.servers", bootstrap, "enable.idempotence", true, "batch.size", 200,
                "linger.ms", 1, "reconnect.backoff.max.ms", 50);
        var placed = Kit.sendAll(client, Kit.numbered(topic, null, 1000));
        Check.equal(placed.stream().map(m -> m.offset()).toList(), LongStream.range(0, 1000).boxed().toList(), "offsets");
        Check.equal(Kit.at(Kit.read(run, topic, 1000, 1)), Kit.range(0, 1000), "records");
    }

    private static void roundTrip(Run run, byte[] key, byte[] value) throws Exception {
        var topic = Kit.createTopic(run, 1);
        Kit.send(Kit.producer(run), new ProducerRecord<>(topic, key, value));
        ConsumerRecord<byte[], byte[]> got = Kit.read(run, topic, 1, 1).get(0);
        Check.that(Arrays.equals(got.key(), key), "key differs: " + Arrays.toString(got.key()));
        Check.that(Arrays.equals(got.value(), value), "value differs");
    }

    private static void headers(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        List<Header> sent = List.of(new RecordHeader("b", Kit.bytes("1")), new RecordHeader("a", new byte[0]),
                new RecordHeader("b", Kit.bytes("2")), new RecordHeader("null", (byte[]) null),
                new RecordHeader("ключ", Kit.bytes("значение")));
        Kit.send(Kit.producer(run), new ProducerRecord<>(topic, null, null, null, Kit.bytes("v"), sent));
        Check.equal(Arrays.asList(Kit.read(run, topic, 1, 1).get(0).headers().toArray()), sent, "headers");
    }

    private static void withAcks(Run run, String acks) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var client = Kit.producer(run, "acks", acks, "enable.idempotence", acks.equals("all"));
        var placed = Kit.sendAll(client, Kit.numbered(topic, null, 50));
        if (!acks.equals("0")) {
            Check.equal(placed.stream().map(m -> m.offset()).toList(), LongStream.range(0, 50).boxed().toList(), "offsets");
        }
        Check.equal(Kit.at(Kit.read(run, topic, 50, 1)), Kit.range(0, 50), "records");
    }

    static byte[] large(int size, int step) {
        var value = new byte[size];
        for (int i = 0; i < size; i++) {
            value[i] = (byte) (i * step % 251);
        }
        return value;
    }

    private static void overLimit(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        var client = Kit.producer(run, "max.request.size", 4_000_000);
        Check.fails(RecordTooLargeException.class,
                () -> Kit.send(client, new ProducerRecord<>(topic, large(2_000_000, 3))));
        Check.equal(Kit.send(client, topic, "small").offset(), 0L, "offset");
        Check.equal(Kit.values(Kit.read(run, topic, 1, 1)), List.of("small"), "records");
    }

    private static void topicLimit(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1, "max.message.bytes", 50_000);
        Check.fails(RecordTooLargeException.class,
                () -> Kit.send(Kit.producer(run), new ProducerRecord<>(topic, large(60_000, 3))));
        Kit.send(Kit.producer(run), topic, "y".repeat(40_000));
        Check.equal(Kit.values(Kit.read(run, topic, 1, 1)), List.of("y".repeat(40_000)), "records");
    }

    private static void aboveFetchLimit(Run run) throws Exception {
        var topic = Kit.createTopic(run, 1);
        for (int i = 0; i < 5; i++) {
            Kit.send(Kit.producer(run), new ProducerRecord<>(topic, large(300_000, i + 1)));
        }
        var client = Kit.reader(run, topic, 1, "max.partition.fetch.bytes", 1000, "fetch.max.bytes", 1000);
        var got = Kit.take(client, 5);
        for (int i = 0; i < 5; i++) {
            Check.that(Arrays.equals(got.get(i).value(), large(300_000, i + 1)), "record " + i + " differs");
        }
    }

    private Records() {}
}
