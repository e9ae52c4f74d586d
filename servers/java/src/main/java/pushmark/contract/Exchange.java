package pushmark.contract;

import java.io.IOException;

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
