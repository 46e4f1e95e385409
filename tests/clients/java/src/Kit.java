import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** How the cases make clients, write and read. Configs are given as name, value, name, value. */
final class Kit {
    static Admin newAdmin(String bootstrap) {
        return Admin.create(Map.of(
                "bootstrap.servers", bootstrap, "default.api.timeout.ms", 20000, "request.timeout.ms", 15000,
                "retry.backoff.ms", 30, "reconnect.backoff.ms", 10));
    }

    static String createTopic(Run run, int partitions, Object... configs) throws Exception {
        return createTopicNamed(run, run.topic(), partitions, configs);
    }

    static String createTopicNamed(Run run, String name, int partitions, Object... configs) throws Exception {
        var strings = new HashMap<String, String>();
        pairs(configs).forEach((key, value) -> strings.put(key, String.valueOf(value)));
        var topic = new NewTopic(name, partitions, (short) 1).configs(strings);
        done(run.admin().createTopics(List.of(topic)).all());
        // A broker may answer before all of it knows the topic.
        Check.eventually(() -> Topics.readyPartitions(run, name) == partitions, "partitions in the metadata", 15);
        return name;
    }

    /** Waits for an admin call. */
    static <T> T done(Future<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
    }

    static Map<String, Object> pairs(Object... configs) {
        var found = new HashMap<String, Object>();
        for (int i = 0; i < configs.length; i += 2) {
            found.put((String) configs[i], configs[i + 1]);
        }
        return found;
    }

    static KafkaProducer<byte[], byte[]> producer(Run run, Object... configs) {
        var settings = pairs("bootstrap.servers", run.bootstrap, "linger.ms", 2, "reconnect.backoff.ms", 10,
                "retry.backoff.ms", 30, "max.block.ms", 20000);
        settings.putAll(pairs(configs));
        var client = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
        run.atEnd(() -> client.close(Duration.ofSeconds(1)));
        return client;
    }

    static ProducerRecord<byte[], byte[]> record(String topic, Integer partition, Long timestamp, String value) {
        return new ProducerRecord<>(topic, partition, timestamp, null, bytes(value));
    }

    static RecordMetadata send(KafkaProducer<byte[], byte[]> client, String topic, String value) throws Exception {
        return send(client, record(topic, null, null, value));
    }

    static RecordMetadata send(KafkaProducer<byte[], byte[]> client, ProducerRecord<byte[], byte[]> record)
            throws Exception {
        return client.send(record).get(30, TimeUnit.SECONDS);
    }

    /** Sends all, then waits for all. */
    static List<RecordMetadata> sendAll(
            KafkaProducer<byte[], byte[]> client, List<ProducerRecord<byte[], byte[]>> records) throws Exception {
        var futures = new ArrayList<Future<RecordMetadata>>();
        for (var record : records) {
            futures.add(client.send(record));
        }
        client.flush();
        var placed = new ArrayList<RecordMetadata>();
        for (var future : futures) {
            placed.add(future.get(30, TimeUnit.SECONDS));
        }
        return placed;
    }

    /** Records "0" to "count - 1". */
    static List<ProducerRecord<byte[], byte[]>> numbered(String topic, Integer partition, int count) {
        return IntStream.range(0, count).mapToObj(i -> record(topic, partition, null, "" + i)).toList();
    }

    static KafkaConsumer<byte[], byte[]> consumer(Run run, String group, Object... configs) {
        var settings = pairs("bootstrap.servers", run.bootstrap, "auto.offset.reset", "earliest",
                "enable.auto.commit", false, "fetch.max.wait.ms", 200, "reconnect.backoff.ms", 10,
                "retry.backoff.ms", 30, "default.api.timeout.ms", 15000);
        if (group != null) {
            settings.put("group.id", group);
        }
        settings.putAll(pairs(configs));
        var client = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        run.atEnd(() -> client.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(Duration.ofSeconds(1))));
        return client;
    }

    /** A consumer with the partitions assigned by hand, at their beginning. */
    static KafkaConsumer<byte[], byte[]> reader(Run run, String topic, int partitions, Object... configs) {
        var client = consumer(run, null, configs);
        client.assign(places(topic, partitions));
        client.seekToBeginning(client.assignment());
        return client;
    }

    static List<TopicPartition> places(String topic, int partitions) {
        return IntStream.range(0, partitions).mapToObj(p -> new TopicPartition(topic, p)).toList();
    }

    static TopicPartition place(String topic) {
        return new TopicPartition(topic, 0);
    }

    static List<ConsumerRecord<byte[], byte[]>> take(KafkaConsumer<byte[], byte[]> client, int count) {
        var taken = new ArrayList<ConsumerRecord<byte[], byte[]>>();
        long deadline = System.nanoTime() + 20_000_000_000L;
        while (taken.size() < count) {
            client.poll(Duration.ofMillis(100)).forEach(taken::add);
            Check.that(System.nanoTime() < deadline, taken.size() + " of " + count + " records in 20 s");
        }
        Check.equal(taken.size(), count, "number of records");
        return taken;
    }

    /** Fails if a record arrives within this time. */
    static void nothing(KafkaConsumer<byte[], byte[]> client, int milliseconds) {
        long deadline = System.nanoTime() + milliseconds * 1_000_000L;
        while (System.nanoTime() < deadline) {
            for (var record : client.poll(Duration.ofMillis(100))) {
                throw new AssertionError("unexpected record " + text(record.value()) + " at " + record.offset());
            }
        }
    }

    /** All records of a topic, which must be exactly this many. */
    static List<ConsumerRecord<byte[], byte[]>> read(Run run, String topic, int count, int partitions) {
        var client = reader(run, topic, partitions);
        var taken = take(client, count);
        nothing(client, 300);
        return taken;
    }

    static List<String> values(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> text(record.value())).toList();
    }

    /** "offset=value" of each record. */
    static List<String> at(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> record.offset() + "=" + text(record.value())).toList();
    }

    /** "i=i" for the offsets from `from` to before `to`, as numbered records give. */
    static List<String> range(int from, int to) {
        return IntStream.range(from, to).mapToObj(i -> i + "=" + i).toList();
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    private Kit() {}
}
