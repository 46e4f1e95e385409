import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A subscribed consumer in a thread of its own that remembers what it read and how its assignment changed.
 *
 * <p>Run as a program (BOOTSTRAP TOPIC GROUP SESSION_TIMEOUT_MS) it is a member in a process of its own, to be killed.
 */
final class Member implements ConsumerRebalanceListener {
    final List<ConsumerRecord<byte[], byte[]>> got = new CopyOnWriteArrayList<>();
    final List<Integer> assigned = new CopyOnWriteArrayList<>();
    final List<Integer> revoked = new CopyOnWriteArrayList<>();
    volatile Throwable error;
    private volatile Set<TopicPartition> owned = Set.of();
    private volatile boolean ended;
    private final KafkaConsumer<byte[], byte[]> client;
    private final Thread thread;

    Member(Run run, String group, List<String> topics, Object... configs) {
        var settings = Kit.pairs("session.timeout.ms", 6000, "heartbeat.interval.ms", 300);
        settings.putAll(Kit.pairs(configs));
        var flat = settings.entrySet().stream().flatMap(e -> List.of(e.getKey(), e.getValue()).stream()).toArray();
        client = Kit.consumer(run, group, flat);
        client.subscribe(topics, this);
        thread = new Thread(this::pollUntilEnded);
        thread.setDaemon(true);
        thread.start();
        run.atEnd(this::leave);
    }

    private void pollUntilEnded() {
        try {
            while (!ended) {
                client.poll(Duration.ofMillis(50)).forEach(got::add);
                owned = new HashSet<>(client.assignment());
            }
        } catch (WakeupException expected) {
            // Asked to leave.
        } catch (Throwable failure) {
            error = failure;
        }
        client.close(CloseOptions.timeout(Duration.ofSeconds(2)));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        revoked.add(partitions.size());
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        assigned.add(partitions.size());
    }

    Set<TopicPartition> partitions() {
        return owned;
    }

    /** Leaves the group as a client that closes does. */
    void leave() throws InterruptedException {
        ended = true;
        client.wakeup();
        thread.join(5000);
    }

    public static void main(String[] arguments) {
        var settings = Map.<String, Object>of("bootstrap.servers", arguments[0], "group.id", arguments[2],
                "session.timeout.ms", arguments[3], "heartbeat.interval.ms", "500");
        var member = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        member.subscribe(List.of(arguments[1]));
        int said = 0;
        long ends = System.nanoTime() + 60_000_000_000L; // Nobody may be left to kill it.
        while (System.nanoTime() < ends) {
            member.poll(Duration.ofMillis(200));
            if (member.assignment().size() != said) {
                said = member.assignment().size();
                System.out.println(said);
            }
        }
        member.close();
    }
}
