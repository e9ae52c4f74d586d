package pushmark.contract;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The wire of a server with a thread for each request: that thread waits, and does the writing. */
public final class Waiting implements Wire {
    private final Thread thread = Thread.currentThread();
    private final Writer writer;

    /** Writes and flushes; the response ends when the request's handler returns. */
    public interface Writer {
        void write(Output output) throws Exception;
    }

    private Waiting(Writer writer) {
        this.writer = writer;
    }

    /** Serves a subscriber in the calling thread until its response has ended. */
    public static void serve(Subscriber subscriber, Writer writer) {
        Waiting waiting = new Waiting(writer);
        subscriber.attach(waiting);
        long hold = TimeUnit.MILLISECONDS.toNanos(subscriber.holdMs());
        long end = System.nanoTime() + hold;
        while (true) {
            subscriber.drain();
            if (subscriber.isOver()) {
                return;
            }
            if (hold == 0) {
                LockSupport.park(waiting);
                continue;
            }
            long left = end - System.nanoTime();
            if (left > 0) {
                LockSupport.parkNanos(waiting, left);
            } else {
                subscriber.timeUp();
            }
        }
    }

    @Override
    public boolean ready() {
        return Thread.currentThread() == thread;
    }

    @Override
    public void write(Output output) throws Exception {
        writer.write(output);
    }

    @Override
    public void wake(Subscriber subscriber) {
        LockSupport.unpark(thread);
    }
}
