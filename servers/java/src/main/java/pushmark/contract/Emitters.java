package pushmark.contract;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** All named emitters: set, changed, cleared, and asked what is due. They are told the time. */
final class Emitters {
    private static final int EMITTERS_MAX = 256;

    private final Map<String, Emitter> byName = new TreeMap<>();

    /** Sets an emitter, or changes it: its schedule begins anew. Whether there was one of that name. */
    synchronized boolean set(String name, Emitter emitter) throws Refusal {
        if (byName.size() >= EMITTERS_MAX && !byName.containsKey(name)) {
            throw new Refusal(503, "there are " + EMITTERS_MAX + " emitters already");
        }
        Emitter before = byName.put(name, emitter);
        if (before != null) {
            before.cleared = true;
        }
        return before != null;
    }

    synchronized void clear(String name) throws Refusal {
        Emitter emitter = byName.remove(name);
        if (emitter == null) {
            throw new Refusal(404, "no emitter of that name");
        }
        emitter.cleared = true;
    }

    synchronized int clearAll() {
        int cleared = byName.size();
        for (Emitter emitter : byName.values()) {
            emitter.cleared = true;
        }
        byName.clear();
        return cleared;
    }

    synchronized int size() {
        return byName.size();
    }

    /** Gives up to {@code max} ticks due by {@code nowUs} in the order of their dues; says when the next is. */
    synchronized long takeDue(long nowUs, int max, List<Emitter.Tick> ticks) {
        while (true) {
            Emitter next = null;
            long dueUs = Long.MAX_VALUE;
            for (Emitter emitter : byName.values()) {
                if (emitter.dueUs() < dueUs) {
                    dueUs = emitter.dueUs();
                    next = emitter;
                }
            }
            if (dueUs > nowUs || ticks.size() >= max) {
                return dueUs;
            }
            ticks.add(next.take());
        }
    }
}
