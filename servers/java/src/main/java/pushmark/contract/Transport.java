package pushmark.contract;

/** How a subscriber hears. */
public enum Transport {
    LONG_POLL("long-poll", "text/plain"),
    STREAM("stream", "text/plain"),
    SSE("sse", "text/event-stream"),
    WEBSOCKET("websocket", null);

    final String label;
    final String type;

    Transport(String label, String type) {
        this.label = label;
        this.type = type;
    }
}
