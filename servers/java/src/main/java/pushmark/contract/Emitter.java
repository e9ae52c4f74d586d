package pushmark.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * An emitter: a publisher inside the server, on an absolute schedule (CONTRACT 5). Publication n of a channel is
 * due at start + phase + n × interval, whatever happened to the ones before. Nothing here knows the time.
 */
final class Emitter {
    private static final List<String> KEYS = Arrays.asList("interval_us", "size", "channels", "nonce", "publisher",
            "start_us", "count", "channel_indexes", "phases_us");
    private static final int CHANNELS_MAX = 1 << 16;
    private static final long INTERVAL_MAX_US = 86_400_000_000L;
    private static final long PAST_MAX_US = 60_000_000;

    final long startUs;
    private final long intervalUs;
    private final int size;
    private final long nonce;
    private final long publisher;
    private final long count;
    /** In the order of their phases. */
    private final List<Voice> voices = new ArrayList<>();
    /** The next publication: its number, and which voice. */
    private long cycle;
    private int voice;
    /** Cleared or changed: what of it is not written yet never will be (CONTRACT 5.5). */
    volatile boolean cleared;

    private static final class Voice {
        final String channel;
        final long index;
        final long phaseUs;

        Voice(String channel, long index, long phaseUs) {
            this.channel = channel;
            this.index = index;
            this.phaseUs = phaseUs;
        }
    }

    /** A publication that is due. */
    static final class Tick {
        final Emitter emitter;
        final String channel;
        private final long index;
        private final long sequence;
        private final long dueUs;

        private Tick(Emitter emitter, Voice voice, long sequence, long dueUs) {
            this.emitter = emitter;
            this.channel = voice.channel;
            this.index = voice.index;
            this.sequence = sequence;
            this.dueUs = dueUs;
        }

        byte[] message(long sentUs) {
            return Stamp.message(emitter.size, emitter.nonce, emitter.publisher, index, sequence, dueUs, sentUs);
        }
    }

    /** Reads the document of CONTRACT 5.2. */
    Emitter(Map<String, Object> document, long nowUs) throws Refusal {
        for (String key : document.keySet()) {
            if (!KEYS.contains(key)) {
                throw new Refusal(400, "unknown key " + key + ", accepted: " + String.join(", ", KEYS));
            }
        }
        intervalUs = number(document, "interval_us", null, 1, INTERVAL_MAX_US);
        size = (int) number(document, "size", null, Stamp.LENGTH, Publication.MESSAGE_MAX);
        nonce = number(document, "nonce", null, 0, Stamp.NONCES - 1);
        publisher = number(document, "publisher", 0L, 0, Stamp.PUBLISHERS - 1);
        startUs = number(document, "start_us", nowUs, Math.max(0, nowUs - PAST_MAX_US), nowUs + INTERVAL_MAX_US);
        count = number(document, "count", Long.MAX_VALUE, 0, Long.MAX_VALUE);
        List<?> channels = list(document, "channels", -1);
        if (channels == null || channels.isEmpty() || channels.size() > CHANNELS_MAX) {
            throw Refusal.range("channels", channels == null ? "none" : channels.size() + " names", 1, CHANNELS_MAX);
        }
        List<?> indexes = list(document, "channel_indexes", channels.size());
        List<?> phases = list(document, "phases_us", channels.size());
        for (int i = 0; i < channels.size(); i++) {
            Object name = channels.get(i);
            if (!(name instanceof String) || !Query.isName((String) name)) {
                throw new Refusal(400, "channels: no such name: " + Json.write(name));
            }
            long index = indexes == null ? i : number("channel_indexes", indexes.get(i), 0, Stamp.CHANNELS - 1);
            long phaseUs = phases == null ? 0 : number("phases_us", phases.get(i), 0, intervalUs - 1);
            voices.add(new Voice((String) name, index, phaseUs));
        }
        voices.sort(Comparator.comparingLong(v -> v.phaseUs));
    }

    /** When its next publication is due; {@link Long#MAX_VALUE} once it has done its work. */
    long dueUs() {
        return cycle < count ? startUs + voices.get(voice).phaseUs + cycle * intervalUs : Long.MAX_VALUE;
    }

    /** Takes the publication that is due. */
    Tick take() {
        Tick tick = new Tick(this, voices.get(voice), cycle, dueUs());
        voice = (voice + 1) % voices.size();
        cycle += voice == 0 ? 1 : 0;
        return tick;
    }

    private static long number(Map<String, Object> document, String key, Long absent, long low, long high)
            throws Refusal {
        Object found = document.get(key);
        if (found == null && absent != null) {
            return absent;
        }
        return number(key, found == null ? "none" : found, low, high);
    }

    private static long number(String key, Object found, long low, long high) throws Refusal {
        if (found instanceof Long && (Long) found >= low && (Long) found <= high) {
            return (Long) found;
        }
        throw Refusal.range(key, found, low, high);
    }

    private static List<?> list(Map<String, Object> document, String key, int size) throws Refusal {
        Object found = document.get(key);
        if (found == null) {
            return null;
        }
        if (!(found instanceof List)) {
            throw new Refusal(400, key + ": a list is needed");
        }
        List<?> list = (List<?>) found;
        if (size >= 0 && list.size() != size) {
            throw new Refusal(400, key + ": found " + list.size() + " values for " + size + " channels");
        }
        return list;
    }
}
