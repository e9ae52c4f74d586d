package pushmark.contract;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

/**
 * Somebody who hears channels, and what waits to be written to them.
 *
 * <p>Publications are put into its outbox by one thread, the {@link Pump}; its output is taken by whichever
 * thread writes, one at a time. The monitor guards the outbox and is never held while anything is written.
 */
public final class Subscriber {
    /** Deliveries that wait for a subscriber who does not read; beyond it the oldest gives way (CONTRACT 3.5). */
    static final int OUTBOX_MAX = 1024;
    /** Bytes that are joined into one write, unless a single message is longer. A stream's messages never are. */
    private static final int WRITE_MAX = 1 << 16;
    private static final byte[] LINE_END = {'\n'};

    final Transport transport;
    final List<String> names;
    /** CONTRACT 7: the request that each event is answered with; else null. */
    final Instrumented request;
    final long beganUs;
    private final Hub hub;
    private final long holdMs;

    /** Set by the hub when it lists this subscriber, and guarded by its lock. */
    Channel.Place[] places;
    String acknowledgement;
    long cursor;

    /** Used by the pump alone: in the pass that is under way, and answered in it. */
    boolean touched;
    private boolean answering;

    private Answer head;
    private ArrayDeque<Output.Frame> outbox;
    private boolean last;
    /** A long poll's answer belongs to who comes first: a publication, the time-out, the stop. */
    private boolean claimed;
    /** The last output was taken; it has been written when it is over. */
    private boolean ended;
    private boolean over;
    private boolean writing;
    private boolean again;
    private volatile Wire wire;

    Subscriber(Hub hub, Transport transport, List<String> names, long holdMs, Instrumented request) {
        this.hub = hub;
        this.transport = transport;
        this.names = names;
        this.holdMs = holdMs;
        this.request = request;
        this.beganUs = Clock.us();
    }

    /** How long the response may be held, ms; 0 for one without end. */
    public long holdMs() {
        return transport == Transport.LONG_POLL ? Math.max(1, holdMs) : 0;
    }

    /** The wire is there: what has come meanwhile goes out now. */
    public void attach(Wire wire) {
        this.wire = wire;
        wire.wake(this);
    }

    /** The hold has passed: a long poll is answered with the time-out document (CONTRACT 6.3). */
    public void timeUp() {
        if (transport != Transport.LONG_POLL || !claim()) {
            return;
        }
        hub.stats.add(Stats.LONG_POLL_TIMEOUTS);
        long heldUs = Clock.us() - beganUs;
        Map<String, Object> document = request != null
                ? request.timedOut(hub.requests())
                : Json.object("timeout", true, "hold_ms", holdMs, "held_us", heldUs);
        // Nothing came since it was registered, so its cursor of then misses nothing.
        finish(Answer.json(200, document, headers(cursor, acknowledgement)));
        hub.unlist(this);
        wake();
    }

    /** The client has gone, or cannot be written to. */
    public void lost() {
        synchronized (this) {
            claimed = true;
            over = true;
            outbox = null;
            notifyAll();
        }
        hub.unlist(this);
    }

    /** Whether everything was written, or the client has gone. */
    public synchronized boolean isOver() {
        return over;
    }

    /** Waits until everything was written, by whichever thread is at it, or {@code ms} have passed. */
    public synchronized boolean awaitOver(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        try {
            for (long left = ms; !over && left > 0; left = (end - System.nanoTime()) / 1_000_000) {
                wait(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return over;
    }

    /** The server stops: polls are answered, lasting responses end (CONTRACT 2.5). */
    void stop() {
        if (transport == Transport.LONG_POLL) {
            timeUp();
            return;
        }
        synchronized (this) {
            last = true;
        }
        hub.unlist(this);
        wake();
    }

    /** A lasting response begins: its head is the first to go out. */
    void open() {
        // The head of a WebSocket is the server's affair.
        if (transport == Transport.STREAM || transport == Transport.SSE) {
            head = new Answer(200, type(), null, headers(-1, acknowledgement));
        }
    }

    /** What is newer than the cursor it came with; before it is listed. */
    void history(List<Publication> missed) {
        for (Publication publication : missed) {
            push(frame(publication, 0, 0, 0), publication, Integer.MAX_VALUE);
        }
    }

    /**
     * Takes a publication; {@link #flush} follows. An instrumented request is the {@code place}-th of
     * {@code total} of them.
     */
    void deliver(Publication publication, int place, int total, long loopBeganUs) {
        if (transport == Transport.LONG_POLL && !answering) {
            if (!claim()) {
                return;
            }
            answering = true;
        }
        push(frame(publication, place, total, loopBeganUs), publication, OUTBOX_MAX);
    }

    /** All publications of this pass were delivered: they go out. */
    void flush(long passCursor) {
        touched = false;
        if (answering) {
            answering = false;
            hub.unlist(this);
            hub.stats.add(Stats.LONG_POLL_ANSWERS);
            finish(new Answer(200, type(), null, headers(passCursor, acknowledgement)));
        }
        wake();
    }

    static String[] headers(long cursor, String acknowledgement) {
        List<String> headers = new ArrayList<>();
        if (cursor >= 0) {
            headers.add("pushmark-cursor");
            headers.add(Long.toString(cursor));
        }
        if (acknowledgement != null) {
            headers.add("pushmark-subscribed");
            headers.add(acknowledgement);
        }
        return headers.toArray(new String[0]);
    }

    /** The acknowledgement, for transports whose head the server writes itself; null where there is none. */
    public String acknowledgement() {
        return acknowledgement;
    }

    /**
     * Writes what waits, until nothing does or the wire is not ready. Where another thread is at it already,
     * that one goes on.
     */
    public void drain() {
        Wire to = wire;
        synchronized (this) {
            again = true;
            if (to == null || writing) {
                return;
            }
            writing = true;
        }
        while (goOn()) {
            try {
                Output output;
                while (to.ready() && (output = take()) != null) {
                    to.write(output);
                    written(output);
                }
            } catch (Exception e) {
                hub.stats.add(Stats.WRITE_FAILURES);
                lost();
            }
        }
    }

    /** Takes what is to be written next; null where nothing waits. */
    private synchronized Output take() {
        boolean empty = outbox == null || outbox.isEmpty();
        // A poll's messages wait for the head that goes before them.
        boolean nothing = transport == Transport.LONG_POLL ? !last : head == null && !last && empty;
        if (over || ended || nothing) {
            return null;
        }
        boolean whole = head != null && last;
        List<Output.Frame> frames = empty ? Collections.<Output.Frame>emptyList() : new ArrayList<>(1);
        for (int bytes = 0; !empty; empty = outbox.isEmpty()) {
            Output.Frame next = outbox.peekFirst();
            bytes += next.bytes.length;
            // What is flushed together is one chunk, and a stream's message is one (CONTRACT 6.4). A WebSocket's
            // messages are frames of their own.
            boolean single = transport == Transport.STREAM || transport == Transport.WEBSOCKET;
            boolean full = bytes > WRITE_MAX || single;
            if (full && !frames.isEmpty() && !whole) {
                break;
            }
            frames.add(outbox.removeFirst());
        }
        Output output = new Output(head, frames, last && empty);
        head = null;
        ended = output.last;
        return output;
    }

    private void written(Output output) {
        hub.stats.add(Stats.DELIVERIES, output.deliveries());
        if (output.last) {
            synchronized (this) {
                over = true;
                notifyAll();
            }
        }
    }

    private synchronized boolean goOn() {
        writing = again;
        again = false;
        return writing;
    }

    private synchronized boolean claim() {
        boolean first = !claimed;
        claimed = true;
        return first;
    }

    private synchronized void finish(Answer answer) {
        head = answer;
        last = true;
    }

    private void wake() {
        Wire to = wire;
        if (to != null) {
            to.wake(this);
        }
    }

    private synchronized void push(byte[] frame, Publication publication, int max) {
        if (over || ended) {
            return;
        }
        if (outbox == null) {
            outbox = new ArrayDeque<>(4);
        }
        if (outbox.size() >= max) {
            outbox.removeFirst();
            hub.stats.add(Stats.DROPPED);
        }
        // Messages in one answer have a line end between two (CONTRACT 6.2).
        boolean between = transport == Transport.LONG_POLL && !outbox.isEmpty();
        outbox.addLast(new Output.Frame(between ? Output.join(LINE_END, frame) : frame, publication));
        hub.stats.queueReached(outbox.size());
    }

    private byte[] frame(Publication publication, int place, int total, long loopBeganUs) {
        if (request != null) {
            byte[] document = request.event(publication, place, total, loopBeganUs, hub.requests());
            return transport == Transport.STREAM ? Output.join(document, LINE_END) : document;
        }
        switch (transport) {
            case STREAM: return publication.line();
            case SSE: return publication.event();
            default: return publication.message;
        }
    }

    private String type() {
        return request != null ? "application/json" : transport.type;
    }
}
