package pushmark;

import java.nio.file.Path;
import java.util.Map;

import org.mortbay.jetty.servlet.Context;
import org.mortbay.jetty.servlet.ServletHolder;
import org.mortbay.thread.QueuedThreadPool;

import pushmark.contract.Server;

/** The oldest Bayeux server of Jetty 6 that runs: its own cometd module, over long polling. */
public final class CometdJetty6 extends Server {
    private org.mortbay.jetty.Server jetty;
    private CountingConnector connector;
    private QueuedThreadPool pool;

    private CometdJetty6() {
        options.number("timeout", 20_000).number("max-interval", 10_000).number("min-threads", 10)
                .number("low-threads", 25).number("acceptors", 2).number("accept-queue", 1000)
                .number("idle-ms", 240_000).number("low-connections", 11_000).number("low-idle-ms", 1000);
    }

    @Override
    protected String version() {
        return "Jetty " + org.mortbay.jetty.Server.class.getPackage().getImplementationVersion() + " with its cometd";
    }

    @Override
    protected void start(int port, Path scratch) throws Exception {
        jetty = new org.mortbay.jetty.Server();
        pool = new QueuedThreadPool();
        pool.setMaxThreads(options.number("threads"));
        pool.setMinThreads(Math.min(options.number("min-threads"), options.number("threads")));
        pool.setLowThreads(options.number("low-threads"));
        jetty.setThreadPool(pool);
        connector = new CountingConnector();
        connector.setHost(HOST);
        connector.setPort(port);
        connector.setAcceptors(options.number("acceptors"));
        connector.setAcceptQueueSize(options.number("accept-queue"));
        connector.setMaxIdleTime(options.number("idle-ms"));
        connector.setLowResourcesConnections(options.number("low-connections"));
        connector.setLowResourceMaxIdleTime(options.number("low-idle-ms"));
        connector.setHeaderBufferSize(HEAD_MAX);
        jetty.addConnector(connector);
        Context context = new Context(jetty, "/");
        CometdJetty6Bayeux bayeux = new CometdJetty6Bayeux(contract);
        ServletHolder cometd = new ServletHolder(bayeux);
        cometd.setInitParameter("timeout", Integer.toString(options.number("timeout")));
        cometd.setInitParameter("maxInterval", Integer.toString(options.number("max-interval")));
        cometd.setInitOrder(1);
        context.addServlet(cometd, "/cometd/*");
        context.addServlet(new ServletHolder(new CometdJetty6Servlet(contract)), "/*");
        jetty.start();
        contract.relayTo(new CometdJetty6Relay(bayeux.getBayeux(), contract));
    }

    @Override
    protected void stop() throws Exception {
        connector.close(); // the process ends with it
    }

    @Override
    public void describe(Map<String, Object> document) {
        document.put("threads", (long) pool.getThreads());
        document.put("connections", connector.connections());
        document.put("nodelay", true);
    }

    @Override
    public boolean seesDepartures() {
        return false; // a client is forgotten when it stays away
    }

    public static void main(String[] arguments) throws Exception {
        new CometdJetty6().run(arguments);
    }
}
