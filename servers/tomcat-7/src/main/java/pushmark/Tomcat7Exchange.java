package pushmark;

import java.io.IOException;
import javax.servlet.AsyncContext;
import javax.servlet.AsyncEvent;
import javax.servlet.AsyncListener;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import pushmark.contract.Answer;
import pushmark.contract.Exchange;
import pushmark.contract.Output;
import pushmark.contract.Server;
import pushmark.contract.Subscriber;
import pushmark.contract.Waiting;
import pushmark.contract.Wire;

/** A request of Tomcat 7: held as an asynchronous one, or by its thread. */
final class Tomcat7Exchange extends Exchange implements Wire, AsyncListener {
    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final boolean asynchronous;
    private AsyncContext context;
    private Subscriber subscriber;

    Tomcat7Exchange(HttpServletRequest request, HttpServletResponse response, boolean asynchronous) {
        this.request = request;
        this.response = response;
        this.asynchronous = asynchronous;
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
        return read(request.getInputStream(), max);
    }

    @Override
    public void answer(Answer answer) throws IOException {
        write(Output.whole(answer));
    }

    @Override
    public void hold(Subscriber subscriber) {
        if (!asynchronous) {
            Waiting.serve(subscriber, this::write);
            return;
        }
        this.subscriber = subscriber;
        context = request.startAsync(request, response);
        context.setTimeout(subscriber.holdMs());
        context.addListener(this);
        subscriber.attach(this);
    }

    @Override
    public boolean ready() {
        return true; // a write blocks where it must
    }

    @Override
    public void write(Output output) throws IOException {
        try {
            if (output.head != null) {
                head(output);
            }
            response.getOutputStream().write(output.bytes());
            response.flushBuffer();
        } catch (IOException e) {
            end();
            throw e;
        }
        if (output.last) {
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
    }

    private void end() {
        if (context != null) {
            context.complete();
        }
    }

    @Override
    public void onTimeout(AsyncEvent event) {
        subscriber.timeUp();
        // Where a publication was first, its writer ends the request; this thread must not do so before it.
        if (subscriber.holdMs() == 0 || !subscriber.awaitOver(Server.WRITE_MS)) {
            subscriber.lost();
            context.complete();
        }
    }

    @Override
    public void onComplete(AsyncEvent event) {
        subscriber.lost();
    }

    @Override
    public void onError(AsyncEvent event) {
        subscriber.lost();
    }

    @Override
    public void onStartAsync(AsyncEvent event) {
        // this request is started once
    }
}
