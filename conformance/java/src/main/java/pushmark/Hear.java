package pushmark;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.cometd.bayeux.client.ClientSession;
import org.cometd.client.BayeuxClient;
import org.cometd.client.ext.AckExtension;
import org.cometd.client.ext.TimesyncClientExtension;
import org.eclipse.jetty.util.ajax.JSON;

/**
 * Subscribes clients of CometD's library and prints what they hear, a line of JSON each.
 *
 * <p>Usage: {@code Hear long-polling|websocket URL CLIENTS CHANNEL [ack] [timesync]}. It runs until it is ended.
 */
public final class Hear {
    private Hear() {
    }

    /** Says {@code {"client", "subscribed"}} for each, then {@code {"client", "channel", "message"}}. */
    public static void main(String[] args) throws Exception {
        if (args.length < 4) {
            System.err.println("usage: Hear long-polling|websocket URL CLIENTS CHANNEL [ack] [timesync]");
            System.exit(2);
        }
        Clients clients = new Clients(args[0], args[1]);
        String channel = args[3];
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            int number = i;
            List<ClientSession.Extension> extensions = new ArrayList<>();
            for (String name : List.of(args).subList(4, args.length)) {
                extensions.add(extension(name));
            }
            BayeuxClient client = clients.connect(extensions);
            Clients.subscribe(client, channel, (at, message) ->
                say(number, "channel", message.getChannel(), "message", message.getData()));
            say(number, "subscribed", channel, "transport", client.getTransport().getName());
        }
        Thread.currentThread().join();
    }

    private static ClientSession.Extension extension(String name) {
        switch (name) {
            case "ack":
                return new AckExtension();
            case "timesync":
                return new TimesyncClientExtension();
            default:
                throw new IllegalArgumentException("extension: found " + name + ", accepted: ack, timesync");
        }
    }

    /** One line; several threads hear. */
    private static synchronized void say(int client, Object... facts) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("client", client);
        for (int i = 0; i < facts.length; i += 2) {
            line.put((String) facts[i], facts[i + 1]);
        }
        System.out.println(new JSON().toJSON(line));
    }
}
