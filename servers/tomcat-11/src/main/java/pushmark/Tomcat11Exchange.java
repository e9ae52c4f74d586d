package pushmark;

import jakarta.servlet.AsyncContext;
import jakarta.servlet.AsyncEvent;
import jakarta.servlet.AsyncListener;
import jakarta.servlet.ServletOutputStream;
import jakarta.servlet.WriteListener;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import pushmark.contract.Answer;
import pushmark.contract.Contract;
import pushmark.contract.Exchange;
import pushmark.contract.Output;
import pushmark.contract.Server;
import pushmark.contract.Subscriber;
import pushmark.contract.Waiting;
import pushmark.contract.Wire;

/** A request of Tomcat 11: held as an asynchronous one that is written to without blocking, or by its thread. */
final class Tomcat11Exchange extends Exchange implements Wire, AsyncListener, WriteListener {
    private final HttpServletRequest request;
    private final HttpServletResponse response;
    private final Contract contract;
    private final boolean asynchronous;
    private AsyncContext context;
    private ServletOutputStream out;
    private Subscriber subscriber;
    /** Not before the container says that a write is possible: at first, and whenever it was not ready. */
    private volatile boolean blocked = true;
    private boolean unflushed;
    private boolean last;
    private boolean ended;

    Tomcat11Exchange(HttpServletRequest request, HttpServletResponse response, Contract contract,
            boolean asynchronous) {
        this.request = request;
        this.response = response;
        this.contract = contract;
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
        writeNow(Output.whole(answer));
    }

    @Override
    public void hold(Subscriber subscriber) throws IOException {
        if (!asynchronous) {
            Waiting.serve(subscriber, this::writeNow);
            return;
        }
        this.subscriber = subscriber;
        context = request.startAsync(request, response);
        context.setTimeout(subscriber.holdMs());
        context.addListener(this);
        out = response.getOutputStream();
        subscriber.attach(this);
        out.setWriteListener(this);
    }

    @Override
    public void upgrade(Subscriber subscriber) throws Exception {
        Tomcat11Socket.upgrade(request, response, contract, subscriber);
    }

    private void writeNow(Output output) throws IOException {
        if (output.head != null) {
            head(output);
        }
        response.getOutputStream().write(output.bytes());
        response.flushBuffer();
    }

    /** What was written is flushed, and what is flushed ended, as soon as the container takes it. */
    @Override
    public boolean ready() {
        if (ended || !takesMore()) {
            return false;
        }
        try {
            if (unflushed) {
                unflushed = false;
                out.flush();
                if (!takesMore()) {
                    return false;
                }
            }
        } catch (IOException e) {
            onError(e);
            return false;
        }
        if (last) {
            ended = true;
            context.complete();
        }
        return !last;
    }

    /** Once it says no, it is not asked again before the container calls. */
    private boolean takesMore() {
        if (blocked) {
            return false;
        }
        blocked = true;
        boolean ready = out.isReady();
        if (ready) {
            blocked = false;
        }
        return ready;
    }

    @Override
    public void write(Output output) throws IOException {
        if (output.head != null) {
            head(output);
        }
        out.write(output.bytes());
        unflushed = true;
        last = output.last;
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

    @Override
    public void onWritePossible() {
        blocked = false;
        subscriber.drain();
    }

    @Override
    public void onError(Throwable cause) {
        subscriber.lost();
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
