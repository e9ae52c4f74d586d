package pushmark;

import java.nio.file.Path;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.Engine;
import org.apache.catalina.Lifecycle;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.core.StandardContext;
import org.apache.catalina.core.StandardHost;
import org.apache.catalina.startup.Embedded;
import org.apache.catalina.util.ServerInfo;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Protocol;
import org.apache.tomcat.util.net.JIoEndpoint;
import org.apache.tomcat.util.net.NioEndpoint;
import pushmark.contract.Server;

/** Tomcat 6: comet events on the NIO connector, or a blocked thread for each held request. */
public final class Tomcat6 extends Server {
    /** Paths whose responses may be held. */
    private static final String[] HELD = {"/long-poll", "/stream", "/sse", "/request"};

    private final Embedded tomcat = new Embedded();
    private Connector connector;

    /** The NIO connector, which shows its endpoint. */
    public static final class Nio extends Http11NioProtocol {
        NioEndpoint endpoint() {
            return ep;
        }
    }

    /** The blocking connector, which shows its endpoint. */
    public static final class Blocking extends Http11Protocol {
        JIoEndpoint endpoint() {
            return endpoint;
        }
    }

    private Tomcat6() {
        options.word("connector", "nio", "threads").number("select-ms", 1000).word("close", "container", "emit");
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
        connector.setProperty("acceptCount", Integer.toString(BACKLOG));
        connector.setProperty("connectionTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("keepAliveTimeout", Integer.toString(IDLE_MS));
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("maxHttpHeaderSize", Integer.toString(HEAD_MAX));
        connector.setProperty("tcpNoDelay", "true");
        if (nio) {
            connector.setProperty("pollerThreadCount", "1");
            connector.setProperty("selectorTimeout", Integer.toString(options.number("select-ms")));
        }
        tomcat.setCatalinaHome(scratch.toString());
        tomcat.setCatalinaBase(scratch.toString());
        tomcat.setUseNaming(false);
        Engine engine = tomcat.createEngine();
        engine.setName("push");
        engine.setDefaultHost("localhost");
        StandardHost host = (StandardHost) tomcat.createHost("localhost", scratch.resolve("webapps").toString());
        host.setErrorReportValveClass(Tomcat6Errors.class.getName());
        engine.addChild(host);
        host.addChild(context(scratch));
        tomcat.addEngine(engine);
        tomcat.addConnector(connector);
        tomcat.start();
    }

    private StandardContext context(Path scratch) {
        StandardContext context = new StandardContext();
        context.setPath("");
        context.setDocBase(scratch.resolve("webapps/ROOT").toString());
        context.setParentClassLoader(Tomcat6.class.getClassLoader());
        // There is no web.xml that would say that the context is configured.
        context.addLifecycleListener(event -> {
            if (Lifecycle.START_EVENT.equals(event.getType())) {
                ((Context) event.getLifecycle()).setConfigured(true);
            }
        });
        context.addChild(servlet(context, "push", Tomcat6Servlet.class));
        context.addServletMapping("/*", "push");
        context.addChild(servlet(context, "comet", Tomcat6Comet.class));
        for (String path : HELD) {
            context.addServletMapping(path, "comet");
        }
        Tomcat6Servlet.serve(contract, options.is("close", "emit"));
        return context;
    }

    private static Wrapper servlet(StandardContext context, String name, Class<?> servlet) {
        Wrapper wrapper = context.createWrapper();
        wrapper.setName(name);
        wrapper.setServletClass(servlet.getName());
        return wrapper;
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
        return options.is("connector", "nio"); // as an END event; a thread that waits sees nothing
    }

    public static void main(String[] arguments) throws Exception {
        new Tomcat6().run(arguments);
    }
}
