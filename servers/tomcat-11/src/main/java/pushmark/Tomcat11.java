package pushmark;

import java.nio.file.Path;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.startup.Tomcat;
import org.apache.catalina.util.ServerInfo;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.tomcat.util.net.AbstractEndpoint;
import org.apache.tomcat.util.threads.VirtualThreadExecutor;
import org.apache.tomcat.websocket.server.WsSci;
import pushmark.contract.Server;

/** Tomcat 11: asynchronous requests with non-blocking writes, or a blocked virtual thread for each of them. */
public final class Tomcat11 extends Server {
    /** What of a target is left to the contract to refuse: it answers with a document. */
    private static final String RELAXED = "\"<>[\\]^`{|}";

    private final Tomcat tomcat = new Tomcat();
    private Connector connector;

    /** The NIO connector, which shows its endpoint. */
    public static final class Nio extends Http11NioProtocol {
        AbstractEndpoint<?, ?> endpoint() {
            return getEndpoint();
        }
    }

    private Tomcat11() {
        options.word("threading", "asynchronous", "virtual");
    }

    @Override
    protected String version() {
        return ServerInfo.getServerInfo();
    }

    @Override
    protected void start(int port, Path scratch) throws Exception {
        boolean asynchronous = options.is("threading", "asynchronous");
        connector = new Connector(Nio.class.getName());
        connector.setPort(port);
        connector.setProperty("address", HOST);
        connector.setProperty("maxThreads", Integer.toString(options.number("threads")));
        connector.setProperty("maxConnections", Integer.toString(CONNECTIONS_MAX));
        connector.setProperty("acceptCount", Integer.toString(BACKLOG));
        connector.setProperty("connectionTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("keepAliveTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("maxHttpRequestHeaderSize", Integer.toString(HEAD_MAX));
        connector.setProperty("maxSwallowSize", "-1");
        connector.setProperty("relaxedQueryChars", RELAXED);
        connector.setProperty("relaxedPathChars", RELAXED);
        connector.setProperty("tcpNoDelay", "true");
        if (!asynchronous) {
            connector.getProtocolHandler().setExecutor(new VirtualThreadExecutor("push-"));
        }
        tomcat.setBaseDir(scratch.toString());
        tomcat.setConnector(connector);
        ((StandardHost) tomcat.getHost()).setErrorReportValveClass(Tomcat11Errors.class.getName());
        Context context = tomcat.addContext("", scratch.resolve("webapps/ROOT").toString());
        context.addServletContainerInitializer(new WsSci(), null);
        Wrapper servlet = Tomcat.addServlet(context, "push", new Tomcat11Servlet(contract, asynchronous));
        servlet.setAsyncSupported(true);
        context.addServletMappingDecoded("/*", "push");
        tomcat.start();
    }

    @Override
    protected void stop() throws Exception {
        tomcat.stop();
    }

    @Override
    public void describe(Map<String, Object> document) {
        AbstractEndpoint<?, ?> endpoint = ((Nio) connector.getProtocolHandler()).endpoint();
        document.put("connections", endpoint.getConnectionCount());
        if (options.is("threading", "asynchronous")) {
            document.put("threads", (long) endpoint.getCurrentThreadCount());
            document.put("threads_busy", (long) endpoint.getCurrentThreadsBusy());
        }
        document.put("nodelay", true);
    }

    @Override
    public boolean seesDepartures() {
        return false; // by a write that fails, and not before
    }

    public static void main(String[] arguments) throws Exception {
        new Tomcat11().run(arguments);
    }
}
