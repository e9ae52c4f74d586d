package pushmark.contract;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** A server's life, the same for all: options, start, the first line, the stop. */
public abstract class Server implements Contract.Facts {
    /** Where it listens: loopback, unless who starts it wants it reached from other machines (CONTRACT 2.6). */
    public static final String HOST = System.getenv().getOrDefault("PUSHMARK_LISTEN", "127.0.0.1");
    /** Clients that a server is to hold; it accepts as many connections and a few more. */
    public static final int CONNECTIONS_MAX = 100_000;
    /** Connections that may wait to be accepted. */
    public static final int BACKLOG = 4096;
    /** A head of 16 KiB is taken (CONTRACT 3.4). */
    public static final int HEAD_MAX = 20 * 1024;
    /** How long a connection may be idle between two requests, ms: longer than any case. */
    public static final int IDLE_MS = 3_600_000;
    /** How long a write may block where the API blocks, ms. */
    public static final int WRITE_MS = 2_000;

    private static final long START_STACK_BYTES = 1 << 20;
    private static final long LAST_WORDS_MS = 600;
    private static final long STOP_MS = 300;

    protected final Options options = new Options();
    protected Contract contract;
    private Path scratch;

    /** The name and version of what serves. */
    protected abstract String version();

    /** Begins to serve on {@link #HOST} and this port; {@code scratch} is an empty folder. */
    protected abstract void start(int port, Path scratch) throws Exception;

    /** Ends it. What was held has had its last words. */
    protected abstract void stop() throws Exception;

    /** Runs until told to stop. */
    public final void run(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            System.out.println(version() + ", Java " + System.getProperty("java.version"));
            return;
        }
        try {
            options.read(arguments);
        } catch (IllegalArgumentException e) {
            System.err.println(e.getMessage());
            System.exit(2);
        }
        contract = new Contract(this, () -> new Thread(() -> System.exit(0), "stop").start());
        int port = options.number("port") == 0 ? free() : options.number("port");
        scratch = Files.createTempDirectory("pushmark-server");
        Files.createDirectories(scratch.resolve("webapps/ROOT"));
        startDeep(port);
        Runtime.getRuntime().addShutdownHook(new Thread(this::leave, "leave"));
        System.out.println("http://" + HOST + ":" + port);
        while (true) {
            LockSupport.park(this); // some servers' own threads are all daemons
        }
    }

    /** In a thread with a stack of its own size: a start goes deeper than the requests that {@code -Xss} is for. */
    private void startDeep(int port) throws Exception {
        Exception[] failed = new Exception[1];
        Thread thread = new Thread(null, () -> {
            try {
                start(port, scratch);
            } catch (Exception e) {
                failed[0] = e;
            }
        }, "start", START_STACK_BYTES);
        thread.start();
        thread.join();
        if (failed[0] != null) {
            throw failed[0];
        }
    }

    /** SIGTERM and {@code POST /shutdown} end here; the status is 0 for both (CONTRACT 2.5). */
    private void leave() {
        within(LAST_WORDS_MS, contract::stop);
        within(STOP_MS, this::stopQuietly);
        removeScratch();
        Runtime.getRuntime().halt(0);
    }

    private void stopQuietly() {
        try {
            stop();
        } catch (Exception e) {
            System.err.println("while stopping: " + e);
        }
    }

    /** A server that does not come to an end is not waited for. */
    private static void within(long ms, Runnable task) {
        Thread thread = new Thread(task, "stopping");
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The system's choice, for servers whose API cannot say which port it got. */
    private static int free() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(HOST))) {
            return socket.getLocalPort();
        }
    }

    private void removeScratch() {
        try (Stream<Path> files = Files.walk(scratch)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            System.err.println("while removing " + scratch + ": " + e);
        }
    }
}
