package pushmark;

import java.nio.charset.StandardCharsets;
import java.util.Map;

import org.cometd.bayeux.ChannelId;
import org.cometd.bayeux.Promise;
import org.cometd.bayeux.server.BayeuxServer;
import org.cometd.bayeux.server.LocalSession;
import org.cometd.bayeux.server.ServerChannel;
import org.cometd.bayeux.server.ServerMessage;
import org.cometd.bayeux.server.ServerSession;
import org.cometd.bayeux.server.ServerTransport;

import pushmark.contract.Contract;
import pushmark.contract.Publication;
import pushmark.contract.Refusal;
import pushmark.contract.Relay;

/** Joins the contract's channels to CometD's: channel {@code c} is {@code /c}, a message is the data, a string. */
final class Cometd8Relay implements Relay {
    private final BayeuxServer bayeux;
    private final Contract contract;
    private final LocalSession publisher;

    Cometd8Relay(BayeuxServer bayeux, Contract contract) {
        this.bayeux = bayeux;
        this.contract = contract;
        publisher = bayeux.newLocalSession("publisher");
        publisher.handshake();
        bayeux.addListener(new BayeuxServer.SessionListener() {
            @Override
            public void sessionAdded(ServerSession session, ServerMessage message) {
                listen(session);
            }
        });
        bayeux.createChannelIfAbsent("/**", channel -> {
            channel.setPersistent(true);
            channel.addListener(new ServerChannel.MessageListener() {
                @Override
                public boolean onMessage(ServerSession from, ServerChannel to, ServerMessage.Mutable message) {
                    return from == publisher.getServerSession() || clientPublished(message);
                }
            });
        });
    }

    @Override
    public void publish(String name, Publication publication) {
        String text = publication.text();
        if (text == null) {
            contract.stats().add("unsayable"); // JSON has no strings of other bytes than UTF-8
            return;
        }
        try {
            ServerChannel channel = bayeux.createChannelIfAbsent("/" + name).getReference();
            channel.publish(publisher, text, Promise.noop());
        } catch (IllegalArgumentException | IllegalStateException e) {
            contract.stats().add("unsayable"); // names that are none to Bayeux
        }
    }

    @Override
    public int subscribers(String name) {
        ServerChannel channel = bayeux.getChannel("/" + name);
        return channel == null ? 0 : channel.getSubscribers().size();
    }

    @Override
    public void describe(Map<String, Object> transports) {
        long polls = 0;
        long sockets = 0;
        for (ServerSession session : bayeux.getSessions()) {
            ServerTransport transport = session.getServerTransport();
            if (transport != null && !session.isLocalSession()) {
                boolean socket = transport.getName().equals("websocket");
                sockets += socket ? 1 : 0;
                polls += socket ? 0 : 1;
            }
        }
        transports.put("bayeux", polls);
        transports.put("bayeux-websocket", sockets);
    }

    /** Counts what goes out to a client, and lets the oldest message give way where its queue is full. */
    private void listen(ServerSession session) {
        session.addListener((ServerSession.DeQueueListener) (of, queue) -> {
            contract.stats().add("deliveries", queue.stream().filter(message -> !message.isMeta()).count());
            contract.stats().queueReached(queue.size());
        });
        session.addListener((ServerSession.QueueMaxedListener) (of, queue, sender, message) -> {
            queue.poll();
            contract.stats().add("dropped");
            return true;
        });
    }

    /** Whether it may be published. */
    private boolean clientPublished(ServerMessage message) {
        try {
            if (ChannelId.isBroadcast(message.getChannel())) {
                byte[] data = String.valueOf(message.getData()).getBytes(StandardCharsets.UTF_8);
                contract.publishedThere(message.getChannel().substring(1), data);
            }
            return true;
        } catch (Refusal full) {
            return false;
        }
    }
}
