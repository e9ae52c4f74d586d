package pushmark;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

import org.cometd.client.BayeuxClient;
import org.eclipse.jetty.util.ajax.JSON;

/**
 * A second opinion on delivery times: publishes and receives with CometD's library, in one process and on one clock.
 *
 * <p>Usage: {@code Measure long-polling|websocket URL SUBSCRIBERS RATE WARMUP_S SECONDS [SIZE]}. One client publishes
 * on an absolute schedule; every subscriber hears every message. A message is padding and then {@code due:sent},
 * ns of this process's clock; while it warms up, {@code 0:0}, which nobody times.
 */
public final class Measure {
    private static final String CHANNEL = "/second-opinion";

    /** How long the last messages may be on their way, ns. */
    private static final long DRAIN_NS = TimeUnit.SECONDS.toNanos(5);

    /** One column of times, written by many threads. */
    private static final class Times {
        private final long[] ns;
        private final AtomicInteger count = new AtomicInteger();

        Times(int room) {
            ns = new long[room];
        }

        void add(long time) {
            int place = count.getAndIncrement();
            if (place < ns.length) { // beyond it: duplicates, which `delivered` shows
                ns[place] = time;
            }
        }

        Map<String, Object> summary() {
            long[] sorted = Arrays.copyOf(ns, Math.min(count.get(), ns.length));
            Arrays.sort(sorted);
            Map<String, Object> summary = new LinkedHashMap<>();
            if (sorted.length > 0) {
                summary.put("median_us", percentile(sorted, 0.5));
                summary.put("p99_us", percentile(sorted, 0.99));
            }
            return summary;
        }

        /** The nearest rank. */
        private static long percentile(long[] sorted, double share) {
            return sorted[(int) Math.ceil(share * sorted.length) - 1] / 1000;
        }
    }

    private Measure() {
    }

    /** Prints one document: what was expected and delivered, median and p99 from due and from sent. */
    public static void main(String[] args) throws Exception {
        if (args.length < 6) {
            System.err.println("usage: Measure long-polling|websocket URL SUBSCRIBERS RATE WARMUP_S SECONDS [SIZE]");
            System.exit(2);
        }
        int subscribers = Integer.parseInt(args[2]);
        double rate = Double.parseDouble(args[3]);
        int warmup = (int) (Double.parseDouble(args[4]) * rate);
        int published = (int) (Double.parseDouble(args[5]) * rate);
        int size = args.length > 6 ? Integer.parseInt(args[6]) : 128;

        Clients clients = new Clients(args[0], args[1]);
        int expected = subscribers * published;
        Times fromDue = new Times(expected);
        Times fromSent = new Times(expected);
        for (int i = 0; i < subscribers; i++) {
            Clients.subscribe(clients.connect(List.of()), CHANNEL, (at, message) -> {
                long now = System.nanoTime();
                String[] instants = ((String) message.getData()).trim().split(":");
                long due = Long.parseLong(instants[0]);
                if (due != 0) {
                    fromDue.add(now - due);
                    fromSent.add(now - Long.parseLong(instants[1]));
                }
            });
        }
        BayeuxClient publisher = clients.connect(List.of());
        LongAdder refused = new LongAdder();
        long begins = System.nanoTime();
        for (int i = 0; i < warmup + published; i++) {
            long due = begins + (long) (i * 1e9 / rate);
            waitUntil(due);
            String instants = i < warmup ? "0:0" : due + ":" + System.nanoTime();
            String message = " ".repeat(Math.max(0, size - instants.length())) + instants;
            publisher.getChannel(CHANNEL).publish(message, reply -> {
                if (!reply.isSuccessful()) {
                    refused.increment();
                }
            });
        }
        long end = System.nanoTime() + DRAIN_NS;
        while (fromDue.count.get() < expected && System.nanoTime() < end) {
            waitUntil(System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(10));
        }

        Map<String, Object> result = new LinkedHashMap<>();
        result.put("transport", args[0]);
        result.put("subscribers", subscribers);
        result.put("published", published);
        result.put("refused", refused.sum());
        result.put("expected", expected);
        result.put("delivered", fromDue.count.get());
        result.put("from_due", fromDue.summary());
        result.put("from_sent", fromSent.summary());
        System.out.println(new JSON().toJSON(result));
        System.exit(0);
    }

    private static void waitUntil(long instant) {
        for (long now = System.nanoTime(); now < instant; now = System.nanoTime()) {
            LockSupport.parkNanos(instant - now);
        }
    }
}
