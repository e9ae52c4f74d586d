package pushmark;

import java.io.IOException;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import org.apache.catalina.CometEvent;
import pushmark.contract.Answer;
import pushmark.contract.Exchange;
import pushmark.contract.Output;
import pushmark.contract.Server;
import pushmark.contract.Stats;
import pushmark.contract.Subscriber;
import pushmark.contract.Waiting;
import pushmark.contract.Wire;

/** A request of Tomcat 6: held as a comet event, or by its thread. */
final class Tomcat6Exchange extends Exchange implements Wire {
    private final HttpServletRequest request;
    private final HttpServletResponse response;
    /** Null where the connector knows no comet. */
    private final CometEvent event;
    private final Stats stats;
    private final boolean closeAtOnce;
    private Subscriber subscriber;
    /** The container's thread while it handles an event: there, to end the response is safe. */
    private volatile Thread container = Thread.currentThread();

    Tomcat6Exchange(HttpServletRequest request, HttpServletResponse response) {
        this.request = request;
        this.response = response;
        this.event = null;
        this.stats = null;
        this.closeAtOnce = true;
    }

    Tomcat6Exchange(CometEvent event, Stats stats, boolean closeAtOnce) {
        this.request = event.getHttpServletRequest();
        this.response = event.getHttpServletResponse();
        this.event = event;
        this.stats = stats;
        this.closeAtOnce = closeAtOnce;
    }

    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
    public String path() {
        return request.getRequestURI();
    }

    @Override
    public String query() {
        return request.getQueryString();
    }

    @Override
    public String header(String name) {
        return request.getHeader(name);
    }

    @Override
    public boolean isHttp11() {
        return request.getProtocol().equals("HTTP/1.1");
    }

    @Override
    public byte[] body(int max) throws IOException {
        byte[] body = read(request.getInputStream(), max);
        // Else Tomcat takes the body for one that is yet to be read, finds its end, and ends the comet request.
        request.getParameterMap();
        return body;
    }

    @Override
    public void answer(Answer answer) throws IOException {
        write(Output.whole(answer));
    }

    @Override
    public void hold(Subscriber subscriber) throws IOException, ServletException {
        if (event == null) {
            Waiting.serve(subscriber, this::write);
            return;
        }
        this.subscriber = subscriber;
        // 0 would end it at the next sweep. The time-out is that of a blocked write, too.
        event.setTimeout(subscriber.holdMs() == 0 ? Integer.MAX_VALUE : (int) subscriber.holdMs());
        container = null;
        subscriber.attach(this);
    }

    @Override
    public boolean ready() {
        return true; // a write blocks where it must
    }

    @Override
    public void write(Output output) throws IOException {
        if (output.head != null) {
            head(output);
        }
        response.getOutputStream().write(output.bytes());
        response.flushBuffer();
        if (output.last && (closesNow() || !output.isWhole())) {
            end();
        }
    }

    private void head(Output output) {
        Answer head = output.head;
        response.setStatus(head.status);
        for (int i = 0; i < head.headers.length; i += 2) {
            response.setHeader(head.headers[i], head.headers[i + 1]);
        }
        if (head.status != HttpServletResponse.SC_NOT_MODIFIED) {
            response.setContentType(head.type);
            if (output.isWhole()) {
                response.setContentLength(output.bytes().length);
            }
        }
        if (subscriber != null && output.isWhole()) {
            // The next request on it would often be taken for a part of this one, and lost.
            response.setHeader("Connection", "close");
        }
    }

    private boolean closesNow() {
        return closeAtOnce || container == Thread.currentThread();
    }

    /**
     * Ends the response. From a thread that is not the container's this is not safe: the container may be ending it
     * itself, because the client has gone. What comes of it is counted; the bytes are out already.
     */
    private void end() throws IOException {
        if (event == null) {
            return;
        }
        try {
            event.close();
        } catch (RuntimeException e) {
            stats.add("close_failures");
        }
    }

    void timeUp() throws IOException {
        container = Thread.currentThread();
        subscriber.timeUp();
        // Where a publication was first, its writer ends the request; this thread must not do so before it.
        if (!subscriber.awaitOver(Server.WRITE_MS)) {
            lost();
        }
    }

    void lost() throws IOException {
        if (subscriber != null) {
            subscriber.lost();
        }
        event.close();
    }
}
