import java.util.ArrayDeque;
import java.util.Deque;
import java.util.UUID;

/** What a case is given: where the broker is, names nobody else uses, and clean-up at its end. */
final class Run {
    final String bootstrap;
    final String flaky;
    private final String prefix;
    private final Deque<AutoCloseable> cleanups = new ArrayDeque<>();
    private org.apache.kafka.clients.admin.Admin admin;

    Run(String client, String name, String bootstrap, String flaky) {
        this.bootstrap = bootstrap;
        this.flaky = flaky;
        this.prefix = client + "-" + name.replace('_', '-');
    }

    String topic() {
        return prefix + "-" + UUID.randomUUID().toString().substring(0, 8);
    }

    String group() {
        return "g-" + topic();
    }

    /** The case's admin client. */
    synchronized org.apache.kafka.clients.admin.Admin admin() {
        if (admin == null) {
            admin = Kit.newAdmin(bootstrap);
            atEnd(() -> admin.close(java.time.Duration.ofSeconds(1)));
        }
        return admin;
    }

    synchronized void atEnd(AutoCloseable action) {
        cleanups.push(action);
    }

    synchronized void cleanUp() {
        for (var action : cleanups) {
            try {
                action.close();
            } catch (Exception ignored) {
                // The case has its verdict already.
            }
        }
    }
}
