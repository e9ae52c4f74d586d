package pushmark;

import java.nio.file.Path;
import java.util.Map;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

import org.cometd.bayeux.server.BayeuxServer;
import org.cometd.server.BayeuxServerImpl;
import org.cometd.server.ext.AcknowledgedMessagesExtension;
import org.cometd.server.ext.TimesyncExtension;
import org.cometd.server.http.JSONHttpTransport;
import org.cometd.server.http.jakarta.CometDServlet;
import org.cometd.server.websocket.jetty.JettyWebSocketTransport;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Context;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.websocket.server.WebSocketUpgradeHandler;

import pushmark.contract.Server;

/** CometD 8 on Jetty 12 with servlets of Jakarta EE 10: Bayeux over long polling and over WebSocket. */
public final class Cometd8 extends Server {
    /** Longest message of a client: one of 1 MiB, escaped. */
    private static final int MESSAGE_MAX = 4 << 20;
    private static final int ACCEPTORS = 1;
    private static final int SELECTORS = 2;

    private org.eclipse.jetty.server.Server jetty;
    private QueuedThreadPool pool;
    private ServerConnector connector;

    private Cometd8() {
        options.number("timeout", 20_000).number("max-interval", 10_000).number("max-queue", 1024);
    }

    @Override
    protected String version() {
        return "CometD " + BayeuxServerImpl.class.getPackage().getImplementationVersion()
                + ", Jetty " + org.eclipse.jetty.server.Server.getVersion();
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
        ServletContextHandler context = new ServletContextHandler("/");
        WebSocketUpgradeHandler upgrades = WebSocketUpgradeHandler.from(jetty, context);
        upgrades.setHandler(context);
        jetty.setHandler(upgrades);
        context.addServlet(cometd(context), "/cometd/*");
        context.addServlet(new ServletHolder(new Cometd8Servlet(contract)), "/*");
        jetty.start();

        BayeuxServerImpl bayeux = (BayeuxServerImpl) context.getServletContext().getAttribute(BayeuxServer.ATTRIBUTE);
        bayeux.addExtension(new AcknowledgedMessagesExtension());
        bayeux.addExtension(new TimesyncExtension());
        contract.relayTo(new Cometd8Relay(bayeux, contract));
    }

    private ServletHolder cometd(ServletContextHandler context) {
        ServletHolder holder = new ServletHolder(new CometDServlet() {
            @Override
            protected BayeuxServer newBayeuxServer() {
                BayeuxServerImpl bayeux = new BayeuxServerImpl();
                // The WebSocket transport is Jetty's own, and looks for its context here.
                bayeux.setOption(Context.class.getName(), context.getContext());
                return bayeux;
            }

            @Override
            protected void sendError(HttpServletRequest request, HttpServletResponse response, int code,
                    Throwable failure) {
                // JSON that is no message is the client's fault (CONTRACT 6.7); CometD stumbles over its type.
                super.sendError(request, response, failure instanceof ClassCastException ? 400 : code, failure);
            }
        });
        holder.setAsyncSupported(true);
        holder.setInitOrder(1);
        holder.setInitParameter("transports",
                JSONHttpTransport.class.getName() + "," + JettyWebSocketTransport.class.getName());
        holder.setInitParameter("timeout", Integer.toString(options.number("timeout")));
        holder.setInitParameter("maxInterval", Integer.toString(options.number("max-interval")));
        holder.setInitParameter("maxQueue", Integer.toString(options.number("max-queue")));
        holder.setInitParameter("maxMessageSize", Integer.toString(MESSAGE_MAX));
        holder.setInitParameter("ws.cometdURLMapping", "/cometd/*");
        holder.setInitParameter("ws.idleTimeout", Integer.toString(IDLE_MS));
        holder.setInitParameter("ws.enableExtension.permessage-deflate", "false"); // CONTRACT 3.4
        return holder;
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
        return false; // a client who long-polls is forgotten when it stays away
    }

    public static void main(String[] arguments) throws Exception {
        new Cometd8().run(arguments);
    }
}
