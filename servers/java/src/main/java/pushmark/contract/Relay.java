package pushmark.contract;

import java.util.Map;

/** Subscribers whom a server's own library keeps and serves: those of Bayeux. */
public interface Relay {
    /** Publishes to them; called by one thread, without a lock. */
    void publish(String channel, Publication publication);

    /** How many hear this channel now. */
    int subscribers(String channel);

    /** Adds how many there are, by transport. */
    void describe(Map<String, Object> transports);
}
