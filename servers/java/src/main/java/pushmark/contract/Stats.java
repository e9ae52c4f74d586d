package pushmark.contract;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.LongAdder;

/** What is counted, and what the Java machine says of itself. A server adds counters by naming them. */
public final class Stats {
    static final String REQUESTS = "requests";
    static final String BAD_REQUESTS = "bad_requests";
    static final String POLLS = "polls";
    static final String LONG_POLL_ANSWERS = "long_poll_answers";
    static final String LONG_POLL_TIMEOUTS = "long_poll_timeouts";
    static final String PUBLICATIONS = "publications";
    static final String PUBLISH_REFUSED = "publish_refused";
    static final String DELIVERIES = "deliveries";
    static final String DROPPED = "dropped";
    static final String WRITE_FAILURES = "write_failures";
    /** Subscribers given up by the bound of a queue: here the oldest message gives way, so it stays 0. */
    static final String DISCONNECTED = "disconnected";
    static final String QUEUE_DEPTH_MAX = "queue_depth_max";

    private static final String[] ALWAYS = {REQUESTS, BAD_REQUESTS, POLLS, LONG_POLL_ANSWERS, LONG_POLL_TIMEOUTS,
        PUBLICATIONS, PUBLISH_REFUSED, DELIVERIES, DROPPED, WRITE_FAILURES, DISCONNECTED};
    /** Passes are sorted by duration: below 2 µs, 4 µs, and so on; the last takes the rest. */
    private static final int BUCKETS = 24;

    private final Map<String, LongAdder> counters = new ConcurrentHashMap<>();
    private final AtomicLong queueDepthMax = new AtomicLong();
    private final AtomicLong emits = new AtomicLong();
    private final AtomicLong passes = new AtomicLong();
    private final AtomicLong passNs = new AtomicLong();
    private final AtomicLong passNsMax = new AtomicLong();
    private final AtomicLongArray buckets = new AtomicLongArray(BUCKETS);

    Stats() {
        for (String counter : ALWAYS) {
            counters.put(counter, new LongAdder());
        }
    }

    /** Counts one. */
    public void add(String counter) {
        add(counter, 1);
    }

    /** Counts several. */
    public void add(String counter, long n) {
        LongAdder adder = counters.get(counter);
        if (adder == null) {
            adder = counters.computeIfAbsent(counter, unseen -> new LongAdder());
        }
        adder.add(n);
    }

    /** So much waits in one queue. */
    public void queueReached(long depth) {
        if (depth > queueDepthMax.get()) {
            queueDepthMax.accumulateAndGet(depth, Math::max);
        }
    }

    void emitted() {
        emits.incrementAndGet();
    }

    /** A pass over subscribers was made: the writes of what was published together. */
    void passTook(long ns) {
        passes.incrementAndGet();
        passNs.addAndGet(ns);
        passNsMax.accumulateAndGet(ns, Math::max);
        int bucket = 63 - Long.numberOfLeadingZeros(Math.max(1, ns / 1000));
        buckets.incrementAndGet(Math.min(bucket, BUCKETS - 1));
    }

    /** Adds everything to a document. */
    void describe(Map<String, Object> document) {
        counters.forEach((name, adder) -> document.put(name, adder.sum()));
        document.put(QUEUE_DEPTH_MAX, queueDepthMax.get());
        document.put("emits", Json.object("count", emits.get(), "skipped", 0L, "passes", passes.get(),
                "duration_us", durations()));
        document.put("jvm", machine());
    }

    private Map<String, Object> durations() {
        long n = passes.get();
        List<Object> counts = new ArrayList<>();
        for (int i = 0; i < BUCKETS; i++) {
            if (buckets.get(i) > 0) {
                List<Object> pair = new ArrayList<>();
                pair.add(i + 1 < BUCKETS ? 2L << i : null);
                pair.add(buckets.get(i));
                counts.add(pair);
            }
        }
        return Json.object("mean", n > 0 ? passNs.get() / n / 1000 : null,
                "max", n > 0 ? passNsMax.get() / 1000 : null, "buckets", counts);
    }

    private static Map<String, Object> machine() {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        Map<String, Object> collectors = Json.object();
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            collectors.put(collector.getName(), Json.object(
                    "collections", collector.getCollectionCount(), "ms", collector.getCollectionTime()));
        }
        return Json.object("name", System.getProperty("java.vm.name"), "version", System.getProperty("java.vm.version"),
                "uptime_ms", ManagementFactory.getRuntimeMXBean().getUptime(),
                "threads", (long) ManagementFactory.getThreadMXBean().getThreadCount(),
                "threads_peak", (long) ManagementFactory.getThreadMXBean().getPeakThreadCount(),
                "heap_bytes", heap.getUsed(), "heap_bytes_max", heap.getMax(), "collectors", collectors);
    }
}
