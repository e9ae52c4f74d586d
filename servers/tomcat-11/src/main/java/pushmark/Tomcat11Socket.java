package pushmark;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.websocket.CloseReason;
import jakarta.websocket.Endpoint;
import jakarta.websocket.EndpointConfig;
import jakarta.websocket.Extension;
import jakarta.websocket.HandshakeResponse;
import jakarta.websocket.MessageHandler;
import jakarta.websocket.RemoteEndpoint;
import jakarta.websocket.SendHandler;
import jakarta.websocket.SendResult;
import jakarta.websocket.Session;
import jakarta.websocket.server.HandshakeRequest;
import jakarta.websocket.server.ServerContainer;
import jakarta.websocket.server.ServerEndpointConfig;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import pushmark.contract.Contract;
import pushmark.contract.Output;
import pushmark.contract.Publication;
import pushmark.contract.Subscriber;
import pushmark.contract.Wire;

/** A WebSocket (CONTRACT 6.6): one message is on its way at a time, sent without blocking. */
final class Tomcat11Socket extends Endpoint implements Wire, SendHandler {
    private final Contract contract;
    private final Subscriber subscriber;
    private final StringBuilder received = new StringBuilder();
    private Session session;
    private volatile boolean sending;

    private Tomcat11Socket(Contract contract, Subscriber subscriber) {
        this.contract = contract;
        this.subscriber = subscriber;
    }

    /** Answers a handshake; from here on the connection is a WebSocket's. */
    static void upgrade(HttpServletRequest request, HttpServletResponse response, Contract contract,
            Subscriber subscriber) throws Exception {
        ServerContainer container =
                (ServerContainer) request.getServletContext().getAttribute(ServerContainer.class.getName());
        Tomcat11Socket socket = new Tomcat11Socket(contract, subscriber);
        ServerEndpointConfig config = ServerEndpointConfig.Builder.create(Tomcat11Socket.class, "/ws")
                .configurator(socket.new Handshake()).build();
        container.upgradeHttpToWebSocket(request, response, config, Map.of());
    }

    /** What the server says of it in the answer to the handshake. */
    private final class Handshake extends ServerEndpointConfig.Configurator {
        @Override
        public <T> T getEndpointInstance(Class<T> type) {
            return type.cast(Tomcat11Socket.this);
        }

        /** CONTRACT 3.4: none is agreed to. */
        @Override
        public List<Extension> getNegotiatedExtensions(List<Extension> installed, List<Extension> requested) {
            return List.of();
        }

        @Override
        public void modifyHandshake(ServerEndpointConfig config, HandshakeRequest request,
                HandshakeResponse response) {
            if (subscriber.acknowledgement() != null) {
                response.getHeaders().put("pushmark-subscribed", List.of(subscriber.acknowledgement()));
            }
        }
    }

    @Override
    public void onOpen(Session session, EndpointConfig config) {
        this.session = session;
        // Parts, because a whole message would have a buffer of its greatest length in each session.
        session.addMessageHandler(String.class, (MessageHandler.Partial<String>) this::received);
        subscriber.attach(this);
    }

    private void received(String part, boolean last) {
        if (received.length() + part.length() <= Contract.PEER_TEXT_MAX) {
            received.append(part);
        }
        if (last) {
            contract.peerMessage(received.toString());
            received.setLength(0);
            received.trimToSize();
        }
    }

    @Override
    public boolean ready() {
        return !sending;
    }

    @Override
    public void write(Output output) throws IOException {
        RemoteEndpoint.Async remote = session.getAsyncRemote();
        for (Publication publication : output.messages()) {
            sending = true;
            if (publication.text() != null) {
                remote.sendText(publication.text(), this);
            } else {
                remote.sendBinary(ByteBuffer.wrap(publication.message()), this);
            }
        }
        if (output.last) {
            session.close(new CloseReason(CloseReason.CloseCodes.GOING_AWAY, ""));
        }
    }

    @Override
    public void onResult(SendResult result) {
        sending = false;
        if (result.isOK()) {
            subscriber.drain();
        } else {
            subscriber.lost();
        }
    }

    @Override
    public void onClose(Session session, CloseReason reason) {
        subscriber.lost();
    }

    @Override
    public void onError(Session session, Throwable cause) {
        subscriber.lost();
    }
}
