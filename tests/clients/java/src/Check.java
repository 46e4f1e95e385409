import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;

/** What cases demand. */
final class Check {
    static void equal(Object actual, Object expected, String what) {
        if (!Objects.equals(actual, expected)) {
            throw new AssertionError(what + ": got " + Harness.shorten(String.valueOf(actual)) + ", expected "
                    + Harness.shorten(String.valueOf(expected)));
        }
    }

    static void that(boolean truth, String what) {
        if (!truth) {
            throw new AssertionError(what);
        }
    }

    /** Demands that the call fails with this exception, bare or as the cause of another. */
    static <E extends Throwable> E fails(Class<E> expected, Callable<?> call) throws Exception {
        Object outcome;
        try {
            outcome = call.call();
        } catch (Throwable error) {
            for (Throwable one = error; one != null; one = one.getCause()) {
                if (expected.isInstance(one)) {
                    return expected.cast(one);
                }
            }
            throw new AssertionError("got " + (error instanceof ExecutionException ? error.getCause() : error)
                    + ", expected " + expected.getSimpleName(), error);
        }
        throw new AssertionError("no " + expected.getSimpleName() + ": got " + Harness.shorten("" + outcome));
    }

    static void eventually(Callable<Boolean> check, String what, double seconds) throws Exception {
        long deadline = System.nanoTime() + (long) (seconds * 1e9);
        while (!check.call()) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not within " + seconds + " s: " + what);
            }
            Thread.sleep(30);
        }
    }

    private Check() {}
}
