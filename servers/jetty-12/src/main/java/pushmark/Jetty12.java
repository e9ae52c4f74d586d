package pushmark;

import java.nio.file.Path;
import java.util.Map;

import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

import pushmark.contract.Contract;
import pushmark.contract.Server;

/** Jetty 12 by its own API, without servlets: nothing in it blocks. WebSocket is Jetty's, too. */
public final class Jetty12 extends Server {
    private static final int ACCEPTORS = 1;
    private static final int SELECTORS = 2;

    private org.eclipse.jetty.server.Server jetty;
    private QueuedThreadPool pool;
    private ServerConnector connector;

    private Jetty12() {}

    @Override
    protected String version() {
        return "Jetty " + org.eclipse.jetty.server.Server.getVersion();
    }

    @Override
    protected void start(int port, Path scratch) throws Exception {
        pool = new QueuedThreadPool(options.number("threads"));
        jetty = new org.eclipse.jetty.server.Server(pool);
        HttpConfiguration http = new HttpConfiguration();
        http.setRequestHeaderSize(HEAD_MAX);
        connector = new ServerConnector(jetty, ACCEPTORS, SELECTORS, new HttpConnectionFactory(http));
        connector.setHost(HOST);
        connector.setPort(port);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setIdleTimeout(IDLE_MS);
        jetty.addConnector(connector);
        ServerWebSocketContainer sockets = ServerWebSocketContainer.ensure(jetty);
        sockets.setMaxTextMessageSize(Contract.PEER_TEXT_MAX);
        sockets.setMaxBinaryMessageSize(Contract.PEER_TEXT_MAX);
        jetty.setHandler(new Jetty12Handler(contract, sockets));
        jetty.start();
    }

    @Override
    protected void stop() throws Exception {
        jetty.stop();
    }

    @Override
    public void describe(Map<String, Object> document) {
        document.put("threads", (long) pool.getThreads());
        document.put("connections", (long) connector.getConnectedEndPoints().size());
        document.put("nodelay", true);
    }

    @Override
    public boolean seesDepartures() {
        return false; // who waits to write does not read
    }

    public static void main(String[] arguments) throws Exception {
        new Jetty12().run(arguments);
    }
}
