package pushmark.contract;

import java.nio.charset.StandardCharsets;

/** An answer: status, headers, and its body, which is null for one that has no end yet. */
public final class Answer {
    static final byte[] EMPTY = new byte[0];

    public final int status;
    /** The media type; null where there is no body. */
    public final String type;
    /** Other headers: name, value, name, value. */
    public final String[] headers;
    public final byte[] body;

    Answer(int status, String type, byte[] body, String... headers) {
        this.status = status;
        this.type = type;
        this.body = body;
        this.headers = headers;
    }

    static Answer json(int status, Object document, String... headers) {
        return new Answer(status, "application/json", utf8(Json.write(document)), headers);
    }

    static Answer refusal(Refusal refusal) {
        return json(refusal.status, Json.object("error", refusal.getMessage()));
    }

    static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
