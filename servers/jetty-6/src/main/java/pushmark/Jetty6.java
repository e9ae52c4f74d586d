package pushmark;

import java.nio.file.Path;
import java.util.Map;

import org.mortbay.jetty.AbstractConnector;
import org.mortbay.jetty.bio.SocketConnector;
import org.mortbay.jetty.servlet.Context;
import org.mortbay.jetty.servlet.ServletHolder;
import org.mortbay.thread.ThreadPool;

import pushmark.contract.Server;

/** Jetty 6 with one servlet on Continuations: on the connector with selectors, or on the one with blocking sockets. */
public final class Jetty6 extends Server {
    private org.mortbay.jetty.Server jetty;
    private AbstractConnector connector;
    private ThreadPool pool;

    private Jetty6() {
        options.word("connector", "nio", "threads").number("idle-ms", IDLE_MS)
                .number("header-bytes", HEAD_MAX);
    }

    @Override
    protected String version() {
        return "Jetty " + org.mortbay.jetty.Server.class.getPackage().getImplementationVersion();
    }

    @Override
    protected void start(int port, Path scratch) throws Exception {
        jetty = new org.mortbay.jetty.Server();
        pool = pool(options.number("threads"));
        jetty.setThreadPool(pool);
        connector = options.is("connector", "nio") ? new CountingConnector() : new SocketConnector();
        connector.setHost(HOST);
        connector.setPort(port);
        connector.setAcceptQueueSize(BACKLOG);
        connector.setMaxIdleTime(options.number("idle-ms"));
        connector.setHeaderBufferSize(options.number("header-bytes"));
        connector.setStatsOn(true);
        jetty.addConnector(connector);
        new Context(jetty, "/").addServlet(new ServletHolder(new Jetty6Servlet(contract)), "/*");
        jetty.start();
    }

    @Override
    protected void stop() throws Exception {
        connector.close(); // the process ends with it; to stop Jetty would cut off threads that still write
    }

    @Override
    public void describe(Map<String, Object> document) {
        document.put("threads", (long) pool.getThreads());
        document.put("connections", connector instanceof CountingConnector
                ? ((CountingConnector) connector).connections() : connector.getConnectionsOpen());
        document.put("nodelay", true);
    }

    @Override
    public boolean seesDepartures() {
        return false; // a suspended request does not read
    }

    /** Jetty 6.1.5 has a BoundedThreadPool, 6.1.26 a QueuedThreadPool in its place; both take these settings. */
    private static ThreadPool pool(int threads) throws Exception {
        Class<?> type;
        try {
            type = Class.forName("org.mortbay.thread.BoundedThreadPool");
        } catch (ClassNotFoundException e) {
            type = Class.forName("org.mortbay.thread.QueuedThreadPool");
        }
        ThreadPool pool = (ThreadPool) type.getConstructor().newInstance();
        type.getMethod("setMaxThreads", int.class).invoke(pool, threads);
        type.getMethod("setMinThreads", int.class).invoke(pool, Math.min(threads, 10));
        return pool;
    }

    public static void main(String[] arguments) throws Exception {
        new Jetty6().run(arguments);
    }
}
