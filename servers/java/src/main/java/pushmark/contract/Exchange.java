package pushmark.contract;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;

/** One request, as a server's API tells it, and the ways to answer it. */
public abstract class Exchange {
    public abstract String method();

    /** The path as it was sent, still encoded. */
    public abstract String path();

    /** The query as it was sent, or null. */
    public abstract String query();

    /** A header's value, or null. */
    public abstract String header(String name);

    /** Whether it is HTTP/1.1: lasting responses need it. */
    public abstract boolean isHttp11();

    /** The whole body, or as much of it as {@code max} + 1 bytes. */
    public abstract byte[] body(int max) throws IOException;

    /** What a stream holds, or {@code max} + 1 bytes of it: {@link #body} of an API that gives one. */
    protected static byte[] read(InputStream in, int max) throws IOException {
        ByteArrayOutputStream body = new ByteArrayOutputStream();
        byte[] buffer = new byte[8192];
        int n;
        while (body.size() <= max && (n = in.read(buffer, 0, Math.min(buffer.length, max + 1 - body.size()))) > 0) {
            body.write(buffer, 0, n);
        }
        return body.toByteArray();
    }

    /** Answers at once and whole; it has gone out when this returns. */
    public abstract void answer(Answer answer) throws Exception;

    /**
     * Keeps the response: attaches a {@link Wire}, and calls {@link Subscriber#timeUp} once
     * {@link Subscriber#holdMs} have passed, {@link Subscriber#lost} when the client has gone.
     * A server with a thread for each request returns when the response has ended.
     */
    public abstract void hold(Subscriber subscriber) throws Exception;

    /** Accepts a WebSocket whose messages are a subscriber's. Only servers that list this transport have it. */
    public void upgrade(Subscriber subscriber) throws Exception {
        throw new Refusal(404, "this server speaks no WebSocket");
    }
}
