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
import org.apache.coyote.http11.Http11Protocol;
import org.apache.tomcat.util.net.JIoEndpoint;
import org.apache.tomcat.util.net.NioEndpoint;
import pushmark.contract.Server;

/** Tomcat 7: asynchronous requests of Servlet 3.0 on the NIO connector, or a blocked thread for each of them. */
public final class Tomcat7 extends Server {
    private final Tomcat tomcat = new Tomcat();
    private Connector connector;

    /** The NIO connector, which shows its endpoint. */
    public static final class Nio extends Http11NioProtocol {
        NioEndpoint endpoint() {
            return (NioEndpoint) endpoint;
        }
    }

    /** The blocking connector, which shows its endpoint. */
    public static final class Blocking extends Http11Protocol {
        JIoEndpoint endpoint() {
            return (JIoEndpoint) endpoint;
        }
    }

    private Tomcat7() {
        options.word("connector", "nio", "threads").number("select-ms", 1000);
    }

    @Override
    protected String version() {
        return ServerInfo.getServerInfo();
    }

    @Override
    protected void start(int port, Path scratch) throws Exception {
        boolean nio = options.is("connector", "nio");
        connector = new Connector((nio ? Nio.class : Blocking.class).getName());
        connector.setPort(port);
        connector.setProperty("address", HOST);
        connector.setProperty("maxThreads", Integer.toString(options.number("threads")));
        connector.setProperty("maxConnections", Integer.toString(CONNECTIONS_MAX));
        connector.setProperty("acceptCount", Integer.toString(BACKLOG));
        connector.setProperty("connectionTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("keepAliveTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("maxHttpHeaderSize", Integer.toString(HEAD_MAX));
        connector.setProperty("tcpNoDelay", "true");
        if (nio) {
            connector.setProperty("pollerThreadCount", "1");
            connector.setProperty("selectorTimeout", Integer.toString(options.number("select-ms")));
        } else {
            connector.setProperty("disableKeepAlivePercentage", "100");
        }
        tomcat.setBaseDir(scratch.toString());
        tomcat.setPort(port);
        tomcat.getService().addConnector(connector);
        tomcat.setConnector(connector);
        ((StandardHost) tomcat.getHost()).setErrorReportValveClass(Tomcat7Errors.class.getName());
        Context context = tomcat.addContext("", scratch.resolve("webapps/ROOT").toString());
        Wrapper servlet = Tomcat.addServlet(context, "push", new Tomcat7Servlet(contract, nio));
        servlet.setAsyncSupported(true);
        context.addServletMapping("/*", "push");
        tomcat.start();
    }

    @Override
    protected void stop() throws Exception {
        tomcat.stop();
    }

    @Override
    public void describe(Map<String, Object> document) {
        if (connector.getProtocolHandler() instanceof Nio) {
            NioEndpoint endpoint = ((Nio) connector.getProtocolHandler()).endpoint();
            document.put("connections", (long) endpoint.getPoller0().getSelector().keys().size());
            document.put("threads", (long) endpoint.getCurrentThreadCount());
            document.put("threads_busy", (long) endpoint.getCurrentThreadsBusy());
        } else {
            JIoEndpoint endpoint = ((Blocking) connector.getProtocolHandler()).endpoint();
            // A connection has a thread as long as it is open.
            document.put("connections", (long) endpoint.getCurrentThreadsBusy());
            document.put("threads", (long) endpoint.getCurrentThreadCount());
        }
        document.put("nodelay", true);
    }

    @Override
    public boolean seesDepartures() {
        return false; // by a write that fails, and not before
    }

    public static void main(String[] arguments) throws Exception {
        new Tomcat7().run(arguments);
    }
}
