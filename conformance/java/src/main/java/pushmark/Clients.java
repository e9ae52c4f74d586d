package pushmark;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

import jakarta.websocket.ContainerProvider;
import jakarta.websocket.WebSocketContainer;
import org.cometd.bayeux.Promise;
import org.cometd.bayeux.client.ClientSessionChannel;
import org.cometd.client.BayeuxClient;
import org.cometd.client.http.jetty.JettyHttpClientTransport;
import org.cometd.client.transport.ClientTransport;
import org.cometd.client.websocket.jakarta.WebSocketTransport;
import org.eclipse.jetty.client.HttpClient;
import org.eclipse.jetty.http.HttpCookieStore;

/** Connected clients of CometD's own library, all in one process over shared threads. */
final class Clients {
    /** How long anything may take that a server has to answer, ms. */
    private static final long PATIENCE_MS = 20_000;

    /** Connections that may be open to one server: two a client while it long-polls. */
    private static final int CONNECTIONS_MAX = 32_768;

    /** The library's own bound on a message, 64 KiB over a WebSocket, would hide what a server makes of more. */
    private static final int MESSAGE_MAX = 1 << 20;

    private final String url;
    private final ScheduledExecutorService scheduler = Executors.newScheduledThreadPool(1);
    private final Supplier<ClientTransport> transport;

    /** Makes clients for {@code http://HOST:PORT/PATH} over {@code long-polling} or {@code websocket}. */
    Clients(String transport, String url) throws Exception {
        this.url = url;
        switch (transport) {
            case "long-polling": {
                HttpClient http = new HttpClient();
                http.setMaxConnectionsPerDestination(CONNECTIONS_MAX);
                // Cookies belong to a client, not to all of them; CometD's client keeps its own.
                http.setHttpCookieStore(new HttpCookieStore.Empty());
                http.start();
                this.transport = () -> new JettyHttpClientTransport(null, options(), scheduler, http);
                break;
            }
            case "websocket": {
                WebSocketContainer container = ContainerProvider.getWebSocketContainer();
                this.transport = () -> new WebSocketTransport(options(), scheduler, container);
                break;
            }
            default:
                throw new IllegalArgumentException(
                    "transport: found " + transport + ", accepted: long-polling, websocket");
        }
    }

    /** A transport writes into its own. */
    private static Map<String, Object> options() {
        return new HashMap<>(Map.of(ClientTransport.MAX_MESSAGE_SIZE_OPTION, MESSAGE_MAX));
    }

    /** One more client, its handshake done. Extensions are the library's, added before it. */
    BayeuxClient connect(List<? extends org.cometd.bayeux.client.ClientSession.Extension> extensions)
            throws TimeoutException {
        BayeuxClient client = new BayeuxClient(url, scheduler, transport.get());
        extensions.forEach(client::addExtension);
        client.handshake();
        if (!client.waitFor(PATIENCE_MS, BayeuxClient.State.CONNECTED)) {
            throw new TimeoutException("not connected to " + url);
        }
        return client;
    }

    /** Subscribes and returns when the server has said yes. */
    static void subscribe(BayeuxClient client, String channel, ClientSessionChannel.MessageListener listener)
            throws Exception {
        Promise.Completable<Void> answered = new Promise.Completable<>();
        client.getChannel(channel).subscribe(listener, reply -> {
            if (reply.isSuccessful()) {
                answered.succeed(null);
            } else {
                answered.fail(new IllegalStateException("refused: " + reply));
            }
        });
        answered.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
    }
}
