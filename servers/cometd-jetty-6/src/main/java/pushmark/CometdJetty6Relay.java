package pushmark;

import java.nio.charset.StandardCharsets;
import java.util.Map;

import dojox.cometd.Bayeux;
import dojox.cometd.Channel;
import dojox.cometd.Client;
import dojox.cometd.Extension;
import dojox.cometd.Message;
import org.mortbay.cometd.AbstractBayeux;

import pushmark.contract.Contract;
import pushmark.contract.Publication;
import pushmark.contract.Refusal;
import pushmark.contract.Relay;

/** Joins the contract's channels to Bayeux: channel {@code c} is {@code /c}, a message is the data, a string. */
final class CometdJetty6Relay implements Relay {
    private final AbstractBayeux bayeux;
    private final Client publisher;

    CometdJetty6Relay(AbstractBayeux bayeux, Contract contract) {
        this.bayeux = bayeux;
        this.publisher = bayeux.newClient("publisher");
        bayeux.addExtension(new ClientsPublications(bayeux, contract));
    }

    @Override
    public void publish(String name, Publication publication) {
        String text = publication.text();
        if (text != null) { // JSON has no strings of other bytes than UTF-8
            bayeux.getChannel("/" + name, true).publish(publisher, text, null);
        }
    }

    @Override
    public int subscribers(String name) {
        Channel channel = bayeux.getChannel("/" + name, false);
        return channel == null ? 0 : channel.getSubscribers().size();
    }

    @Override
    public void describe(Map<String, Object> transports) {
        transports.put("bayeux", (long) bayeux.getClients().size() - 1); // without the publisher
    }

    /** Takes note of what clients publish. */
    private static final class ClientsPublications implements Extension {
        private final AbstractBayeux bayeux;
        private final Contract contract;

        ClientsPublications(AbstractBayeux bayeux, Contract contract) {
            this.bayeux = bayeux;
            this.contract = contract;
        }

        @Override
        public Message rcv(Message message) {
            String channel = message.getChannel();
            if (!channel.startsWith(Bayeux.SERVICE_SLASH) && bayeux.hasClient(message.getClientId())) {
                byte[] data = String.valueOf(message.getData()).getBytes(StandardCharsets.UTF_8);
                try {
                    contract.publishedThere(channel.substring(1), data);
                } catch (Refusal full) {
                    contract.stats().add("uncounted"); // Bayeux itself has no bound
                }
            }
            return message;
        }

        @Override
        public Message rcvMeta(Message message) {
            return message;
        }

        @Override
        public Message send(Message message) {
            return message;
        }

        @Override
        public Message sendMeta(Message message) {
            return message;
        }
    }
}
