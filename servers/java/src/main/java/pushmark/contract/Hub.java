package pushmark.contract;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;

/**
 * Channels, who hears them, and the publications that wait to be delivered.
 *
 * <p>A publication gets its place in the one order of all, and the list of those it goes to, under the one lock
 * in here. That lock is never held while anything is written (CONTRACT 3.7): the {@link Pump} takes jobs, lets
 * go, and writes to the copies.
 */
final class Hub {
    /** Beyond these bounds a request is answered with 503 (CONTRACT 4.4). */
    private static final int CHANNELS_MAX = 1 << 18;
    private static final int WAITING_MAX = 1 << 16;
    /** Deliveries that wait, all publications together: each is a reference in a copied list. */
    private static final long WAITING_DELIVERIES_MAX = 1 << 23;
    /** Bytes that all channels remember together. */
    private static final long REMEMBERED_BYTES_MAX = 64 << 20;
    /** Channels whose names and numbers fit an acknowledgement (CONTRACT 3.3). */
    private static final int ACKNOWLEDGED_MAX = 256;
    private static final int LISTED_MAX = 4096;

    final Stats stats = new Stats();
    private final Map<String, Channel> channels = new HashMap<>();
    private final Set<Subscriber> listed = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Map<Transport, Integer> transports = new EnumMap<>(Transport.class);
    private final ArrayDeque<Job> waiting = new ArrayDeque<>();
    private long waitingDeliveries;
    private long rememberedBytes;
    private long cursor;
    private int severalChannels;
    private int requests;
    private boolean stopped;
    private volatile Thread pump;
    /** Null where all subscribers are this hub's. */
    volatile Relay relay;

    /** A publication, and those it goes to. */
    static final class Job {
        final Publication publication;
        final Channel.Place[] places;

        Job(Publication publication, Channel.Place[] places) {
            this.publication = publication;
            this.places = places;
        }
    }

    void pumpIs(Thread thread) {
        pump = thread;
    }

    /** Wakes the pump: something is to be done, perhaps earlier than it thought. */
    void wakePump() {
        LockSupport.unpark(pump);
    }

    /** Publishes; gives how many subscribers the channel had, and how many publications wait. */
    long[] publish(String channelName, byte[] message) throws Refusal {
        long[] accepted = accept(channelName, message);
        wakePump();
        return accepted;
    }

    /** Publishes without waking the pump: it is the caller. */
    synchronized long[] accept(String channelName, byte[] message) throws Refusal {
        Channel channel;
        try {
            refuseIfStopped();
            if (waiting.size() >= WAITING_MAX || waitingDeliveries >= WAITING_DELIVERIES_MAX) {
                throw new Refusal(503, "no room: too many publications waiting");
            }
            channel = channel(channelName);
        } catch (Refusal refusal) {
            stats.add(Stats.PUBLISH_REFUSED);
            throw refusal;
        }
        Publication publication = new Publication(channelName, message, Stamp.of(message), ++cursor);
        rememberedBytes += channel.note(publication, rememberedBytes < REMEMBERED_BYTES_MAX);
        Job job = new Job(publication, channel.copy());
        waiting.addLast(job);
        waitingDeliveries += job.places.length;
        stats.add(Stats.PUBLICATIONS);
        return new long[] {job.places.length + relayed(channelName), waiting.size()};
    }

    /** Takes note of what the relay's subscribers published among themselves. */
    synchronized void note(String channelName, byte[] message) throws Refusal {
        Publication publication = new Publication(channelName, message, Stamp.of(message), ++cursor);
        rememberedBytes += channel(channelName).note(publication, rememberedBytes < REMEMBERED_BYTES_MAX);
        stats.add(Stats.PUBLICATIONS);
    }

    private int relayed(String channelName) {
        return relay == null ? 0 : relay.subscribers(channelName);
    }

    /** Moves up to {@code max} waiting publications into a batch. */
    synchronized void take(int max, List<Job> batch) {
        while (batch.size() < max && !waiting.isEmpty()) {
            Job job = waiting.removeFirst();
            waitingDeliveries -= job.places.length;
            batch.add(job);
        }
    }

    /** Whether some client hears several channels. */
    synchronized boolean severalChannelsHeard() {
        return severalChannels > 0;
    }

    /**
     * Lists a subscriber; from here everything published reaches it. Where it came with a cursor and something is
     * newer, that is given instead and a long poll is not listed; anyone else gets it first.
     */
    synchronized List<Publication> subscribe(Subscriber subscriber, Long since) throws Refusal {
        refuseIfStopped();
        Channel[] heard = channels(subscriber.names);
        subscriber.cursor = cursor;
        subscriber.acknowledgement = acknowledgement(heard);
        List<Publication> missed = since == null ? Collections.<Publication>emptyList() : newer(heard, since);
        if (subscriber.transport == Transport.LONG_POLL && !missed.isEmpty()) {
            return missed;
        }
        subscriber.open();
        subscriber.history(missed);
        subscriber.places = new Channel.Place[heard.length];
        for (int i = 0; i < heard.length; i++) {
            subscriber.places[i] = heard[i].list(subscriber);
        }
        listed.add(subscriber);
        transports.merge(subscriber.transport, 1, Integer::sum);
        severalChannels += heard.length > 1 ? 1 : 0;
        requests += subscriber.request == null ? 0 : 1;
        return Collections.emptyList();
    }

    /** Takes a subscriber out of all lists, if it is in them. */
    synchronized void unlist(Subscriber subscriber) {
        if (!listed.remove(subscriber)) {
            return;
        }
        for (Channel.Place place : subscriber.places) {
            place.channel.unlist(place);
        }
        transports.merge(subscriber.transport, -1, Integer::sum);
        severalChannels -= subscriber.places.length > 1 ? 1 : 0;
        requests -= subscriber.request == null ? 0 : 1;
        subscriber.places = null;
    }

    /** What a poll that is never held gets (CONTRACT 6.1). */
    synchronized State state(List<String> names, Long since) throws Refusal {
        refuseIfStopped();
        Channel[] heard = channels(names);
        List<Publication> shown = new ArrayList<>();
        if (since != null) {
            shown = newer(heard, since);
        } else {
            for (Channel channel : heard) {
                if (channel.latest != null) {
                    shown.add(channel.latest);
                }
            }
        }
        return new State(shown, cursor, acknowledgement(heard));
    }

    /** Messages, and what goes with them into the head of an answer. */
    static final class State {
        final List<Publication> messages;
        final long cursor;
        final String acknowledgement;

        State(List<Publication> messages, long cursor, String acknowledgement) {
            this.messages = messages;
            this.cursor = cursor;
            this.acknowledgement = acknowledgement;
        }

        /** The same without the messages: they are known. */
        State without() {
            return new State(Collections.<Publication>emptyList(), cursor, acknowledgement);
        }
    }

    /** Instrumented requests that are registered now (CONTRACT 7.2). */
    synchronized int requests() {
        return requests;
    }

    /** Nothing is subscribed or published any more. Gives those who are still listed. */
    synchronized List<Subscriber> stop() {
        stopped = true;
        return new ArrayList<>(listed);
    }

    synchronized void describe(Map<String, Object> document) {
        Map<String, Object> now = Json.object();
        for (Transport transport : Transport.values()) {
            now.put(transport.label, (long) transports.getOrDefault(transport, 0));
        }
        Map<String, Object> list = Json.object();
        for (Channel channel : channels.values()) {
            if (list.size() < LISTED_MAX) {
                list.put(channel.name, Json.object("published", channel.published,
                        "last", channel.last == null ? null : (Object) channel.last.sequence,
                        "subscribers", (long) channel.subscribers() + relayed(channel.name)));
            }
        }
        if (relay != null) {
            relay.describe(now);
        }
        document.put("transports", now);
        document.put("channels", list);
        document.put("channels_total", (long) channels.size());
        document.put("remembered_bytes", rememberedBytes);
    }

    private void refuseIfStopped() throws Refusal {
        if (stopped) {
            throw new Refusal(503, "the server is stopping");
        }
    }

    private Channel[] channels(List<String> names) throws Refusal {
        Channel[] found = new Channel[names.size()];
        for (int i = 0; i < found.length; i++) {
            found[i] = channel(names.get(i));
        }
        return found;
    }

    private Channel channel(String name) throws Refusal {
        Channel channel = channels.get(name);
        if (channel == null) {
            if (channels.size() >= CHANNELS_MAX) {
                throw new Refusal(503, "no room: too many channels");
            }
            channel = new Channel(name);
            channels.put(name, channel);
        }
        return channel;
    }

    private static List<Publication> newer(Channel[] heard, long since) {
        List<Publication> found = new ArrayList<>();
        for (Channel channel : heard) {
            channel.remember();
            channel.newer(since, found);
        }
        found.sort((a, b) -> Long.compare(a.cursor, b.cursor));
        return found;
    }

    /** CONTRACT 3.2: each channel's highest sequence so far, a dash where there is none. */
    private static String acknowledgement(Channel[] heard) {
        if (heard.length == 0 || heard.length > ACKNOWLEDGED_MAX) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (Channel channel : heard) {
            text.append(text.length() == 0 ? "" : ",").append(channel.name).append('=');
            text.append(channel.last == null ? "-" : Long.toString(channel.last.sequence));
        }
        return text.toString();
    }
}
