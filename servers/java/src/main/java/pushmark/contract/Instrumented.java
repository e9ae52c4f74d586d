package pushmark.contract;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** A registered request whose answers tell what the server did for them (CONTRACT 7). */
final class Instrumented {
    static final int DOCUMENT_MAX = 16 * 1024;

    private static final List<String> KEYS = Arrays.asList("type", "events", "duration_ms");
    private static final long DURATION_DEFAULT_MS = 30_000;

    final Transport transport;
    final List<String> channels;
    final long durationMs;
    private final Map<String, Object> asReceived;
    private final long createdUs = Clock.us();
    private final int start;

    /** Reads the document of CONTRACT 7.1; so many requests are registered already. */
    Instrumented(Map<String, Object> document, int registered) throws Refusal {
        for (String key : document.keySet()) {
            if (!KEYS.contains(key)) {
                throw new Refusal(400, "unknown key " + key + ", accepted: " + String.join(", ", KEYS));
            }
        }
        Object type = document.get("type");
        if (!"comet".equals(type) && !"long-poll".equals(type)) {
            throw new Refusal(400, "type: found " + Json.write(type) + ", accepted: comet, long-poll");
        }
        transport = type.equals("comet") ? Transport.STREAM : Transport.LONG_POLL;
        Object events = document.get("events");
        TreeSet<String> names = new TreeSet<>();
        for (Object name : events instanceof List ? (List<?>) events : Arrays.asList()) {
            if (!(name instanceof String) || !Query.isName((String) name)) {
                throw new Refusal(400, "events: no such name: " + Json.write(name));
            }
            names.add((String) name);
        }
        if (names.isEmpty()) {
            throw new Refusal(400, "events: at least one channel is needed");
        }
        channels = new ArrayList<>(names);
        Object duration = document.containsKey("duration_ms") ? document.get("duration_ms") : DURATION_DEFAULT_MS;
        durationMs = Query.holdMs("duration_ms", duration instanceof Long ? (Long) duration : null);
        asReceived = document;
        start = registered + 1;
    }

    /** The answer to an event: when its emit loop began, and where in it this request stands. */
    byte[] event(Publication publication, int place, int total, long loopBeganUs, int registered) {
        long sentUs = Clock.us();
        return Answer.utf8(Json.write(response(sentUs, registered, "event", Json.object(
                "name", publication.channel,
                "timings", timings(loopBeganUs, sentUs),
                "connections", Json.object("total", total, "place", place),
                "message", new String(publication.message, StandardCharsets.UTF_8)))));
    }

    /** The answer where no event came in time. */
    Map<String, Object> timedOut(int registered) {
        return response(Clock.us(), registered, "timeout", true);
    }

    private Map<String, Object> response(long sentUs, int registered, String key, Object value) {
        return Json.object("response", Json.object(
                key, value,
                "request", asReceived,
                "timings", timings(createdUs, sentUs),
                "connections", Json.object("start", start, "finish", registered)));
    }

    private static Map<String, Object> timings(long createdUs, long sentUs) {
        return Json.object("created", createdUs, "sent", sentUs, "duration", (sentUs - createdUs) / 1000.0);
    }
}
