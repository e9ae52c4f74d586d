package pushmark.contract;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The thread that publishes what emitters have due, and delivers everything that is published.
 *
 * <p>It works from copies of the lists of subscribers, so registering never waits for it (CONTRACT 3.7). How
 * long a delivery takes it is the wire's affair: some write at once, in this thread, others wake their own.
 */
final class Pump extends Thread {
    /** Publications of one pass. */
    private static final int PASS_MAX = 64;

    private final Hub hub;
    private final Emitters emitters;
    /** Held while emitted ticks are written: who clears an emitter waits for it (CONTRACT 5.5). */
    private final ReentrantLock emitting = new ReentrantLock();
    private final List<Hub.Job> batch = new ArrayList<>();
    private final List<Emitter.Tick> ticks = new ArrayList<>();
    private final List<Subscriber> touched = new ArrayList<>();

    Pump(Hub hub, Emitters emitters) {
        super("pump");
        this.hub = hub;
        this.emitters = emitters;
        setDaemon(true);
    }

    /** Waits until nothing that an emitter had due is still being written. */
    void awaitEmitted() {
        emitting.lock();
        emitting.unlock();
    }

    @Override
    public void run() {
        while (true) {
            boolean delivered = deliverWaiting();
            long nextUs = emitDue();
            if (!delivered && nextUs > Clock.us()) {
                LockSupport.parkNanos(Math.min(nextUs - Clock.us(), 3_600_000_000L) * 1000);
            }
        }
    }

    private boolean deliverWaiting() {
        hub.take(PASS_MAX, batch);
        boolean any = !batch.isEmpty();
        if (any) {
            deliver();
            batch.clear();
        }
        return any;
    }

    /** Publishes what is due; gives when something will be again. */
    private long emitDue() {
        emitting.lock();
        try {
            long nextUs = emitters.takeDue(Clock.us(), PASS_MAX, ticks);
            boolean together = shareClients();
            for (Emitter.Tick tick : ticks) {
                emit(tick);
                while (!together && deliverWaiting()) {
                    // each publication is stamped just before its own writes
                }
            }
            ticks.clear();
            while (deliverWaiting()) {
                // one client's messages go out in one write (CONTRACT 3.6)
            }
            return nextUs;
        } finally {
            emitting.unlock();
        }
    }

    private void emit(Emitter.Tick tick) {
        if (tick.emitter.cleared) {
            return;
        }
        try {
            // One value for all subscribers, taken just before the first of their writes (CONTRACT 5.3).
            hub.accept(tick.channel, tick.message(Clock.us()));
            hub.stats.emitted();
        } catch (Refusal full) {
            hub.stats.add("emits_refused");
        }
    }

    /** Whether some client hears several of these ticks, and is to get them in one write. */
    private boolean shareClients() {
        Set<String> channels = new HashSet<>();
        for (Emitter.Tick tick : ticks) {
            channels.add(tick.channel);
        }
        return channels.size() < ticks.size() || ticks.size() > 1 && hub.severalChannelsHeard();
    }

    private void deliver() {
        long began = System.nanoTime();
        long beganUs = began / 1000;
        long cursor = batch.get(batch.size() - 1).publication.cursor;
        Relay relay = hub.relay;
        boolean any = relay != null;
        for (Hub.Job job : batch) {
            if (relay != null) {
                relay.publish(job.publication.channel, job.publication);
            }
            int total = 0;
            for (Channel.Place place : job.places) {
                total += place.subscriber.request == null ? 0 : 1;
            }
            int nth = 0;
            for (Channel.Place place : job.places) {
                Subscriber subscriber = place.subscriber;
                nth += subscriber.request == null ? 0 : 1;
                subscriber.deliver(job.publication, nth, total, beganUs);
                if (batch.size() == 1) {
                    subscriber.flush(cursor);
                } else if (!subscriber.touched) {
                    subscriber.touched = true;
                    touched.add(subscriber);
                }
            }
            any |= job.places.length > 0;
        }
        for (Subscriber subscriber : touched) {
            subscriber.flush(cursor);
        }
        touched.clear();
        if (any) {
            hub.stats.passTook(System.nanoTime() - began);
        }
    }
}
