package pushmark.contract;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/** One channel: who hears it, its latest message, and the recent ones. Guarded by the hub's lock. */
final class Channel {
    /** Messages a channel remembers for those who come back with a cursor (CONTRACT 6.1). */
    private static final int REMEMBERED_MAX = 256;

    final String name;
    long published;
    Stamp last;
    Publication latest;
    private final List<Place> places = new ArrayList<>();
    /** Null until somebody comes who could ask for it. */
    private ArrayDeque<Publication> remembered;

    /** A subscriber's place in a channel's list. */
    static final class Place {
        final Subscriber subscriber;
        final Channel channel;
        private int index;

        private Place(Subscriber subscriber, Channel channel) {
            this.subscriber = subscriber;
            this.channel = channel;
        }
    }

    Channel(String name) {
        this.name = name;
    }

    Place list(Subscriber subscriber) {
        Place place = new Place(subscriber, this);
        place.index = places.size();
        places.add(place);
        return place;
    }

    /** Takes a place out; whoever stood last moves into it. */
    void unlist(Place place) {
        Place moved = places.remove(places.size() - 1);
        if (moved != place) {
            moved.index = place.index;
            places.set(place.index, moved);
        }
    }

    int subscribers() {
        return places.size();
    }

    Place[] copy() {
        return places.toArray(new Place[0]);
    }

    void remember() {
        if (remembered == null) {
            remembered = new ArrayDeque<>();
        }
    }

    /** Takes note of a publication; gives by how many bytes what is remembered grew. */
    long note(Publication publication, boolean room) {
        published++;
        last = Stamp.higher(last, publication.stamp);
        latest = publication;
        if (remembered == null) {
            return 0;
        }
        remembered.addLast(publication);
        long grown = publication.message.length;
        while (remembered.size() > REMEMBERED_MAX || !room && remembered.size() > 1) {
            grown -= remembered.removeFirst().message.length;
        }
        return grown;
    }

    /** Adds what is newer than a cursor, in no order. */
    void newer(long cursor, List<Publication> found) {
        if (remembered == null) {
            return;
        }
        Iterator<Publication> newestFirst = remembered.descendingIterator();
        while (newestFirst.hasNext()) {
            Publication publication = newestFirst.next();
            if (publication.cursor <= cursor) {
                return;
            }
            found.add(publication);
        }
    }
}
