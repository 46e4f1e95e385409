import java.io.PrintStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs registered cases, each under a time limit and several at a time, and prints one JSON line per case. */
final class Harness {
    interface Case {
        void run(Run run) throws Exception;
    }

    private static final Map<String, Case> CASES = new LinkedHashMap<>();
    private static final PrintStream OUT = System.out;

    static void add(String name, Case body) {
        if (CASES.put(name, body) != null) {
            throw new IllegalStateException(name + " is there twice");
        }
    }

    static void main(String client, String[] arguments) throws Exception {
        var options = new LinkedHashMap<String, String>();
        var wanted = new ArrayList<String>();
        for (int i = 0; i + 1 < arguments.length; i += 2) {
            if (arguments[i].equals("--case")) {
                wanted.add(arguments[i + 1]);
            }
            options.put(arguments[i], arguments[i + 1]);
        }
        long limitMs = (long) (Double.parseDouble(options.getOrDefault("--timeout", "60")) * 1000);
        var names = CASES.keySet().stream().filter(n -> wanted.isEmpty() || wanted.contains(n)).toList();
        print("{\"client\": \"" + client + "\", \"plan\": " + names.size() + "}");
        var lanes = Executors.newFixedThreadPool(Integer.parseInt(options.getOrDefault("--parallel", "4")));
        // Case threads are daemons, so that one that hangs does not keep the process.
        var threads = Executors.newCachedThreadPool(body -> {
            var thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        });
        var all = new ArrayList<Future<?>>();
        for (var name : names) {
            all.add(lanes.submit(() -> report(client, name, options, limitMs, threads)));
        }
        for (var one : all) {
            one.get();
        }
        OUT.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void report(
            String client, String name, Map<String, String> options, long limitMs, ExecutorService threads) {
        long started = System.nanoTime();
        var run = new Run(client, name, options.get("--bootstrap"), options.getOrDefault("--flaky", ""));
        var future = threads.submit(() -> {
            CASES.get(name).run(run);
            return null;
        });
        String status = "pass";
        String detail = "";
        try {
            future.get(limitMs, TimeUnit.MILLISECONDS);
        } catch (TimeoutException error) {
            status = "fail";
            detail = "no end in " + limitMs + " ms";
        } catch (InterruptedException | ExecutionException error) {
            status = "fail";
            detail = describe(error.getCause() == null ? error : error.getCause());
        }
        double seconds = Math.round((System.nanoTime() - started) / 1e7) / 100.0;
        print("{\"client\": \"" + client + "\", \"case\": \"" + name + "\", \"status\": \"" + status
                + "\", \"seconds\": " + seconds + ", \"detail\": \"" + escape(detail) + "\"}");
        var cleaning = threads.submit(run::cleanUp);
        try {
            cleaning.get(5, TimeUnit.SECONDS);
        } catch (Exception ignored) {
            // The case has its verdict; a client that fails to close changes nothing.
        }
    }

    private static synchronized void print(String line) {
        OUT.println(line);
        OUT.flush();
    }

    private static String describe(Throwable error) {
        var where = new StringBuilder();
        for (var frame : error.getStackTrace()) {
            if (!frame.getClassName().contains(".") && where.length() < 120) {
                where.append(where.isEmpty() ? " at " : " < ").append(frame.getFileName()).append(':')
                        .append(frame.getLineNumber());
            }
        }
        return shorten(error.toString()) + where;
    }

    static String shorten(String text) {
        return text.length() <= 300 ? text : text.substring(0, 300) + "... (" + text.length() + " characters)";
    }

    private static String escape(String text) {
        var out = new StringBuilder();
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < 0x20) {
                out.append(' ');
            } else {
                out.append(c);
            }
        }
        return out.toString();
    }

    private Harness() {}
}
