package pushmark;

import java.io.IOException;
import java.io.OutputStream;
import java.util.concurrent.TimeUnit;

import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

import org.mortbay.util.ajax.Continuation;
import org.mortbay.util.ajax.ContinuationSupport;
import org.mortbay.util.ajax.WaitingContinuation;

import pushmark.contract.Answer;
import pushmark.contract.Exchange;
import pushmark.contract.Output;
import pushmark.contract.Subscriber;
import pushmark.contract.Wire;

/**
 * A request and its response; held, it lives on a Continuation. Whoever publishes resumes that, and a thread of
 * Jetty's takes the request up again and writes.
 *
 * <p>On the connector with selectors {@code suspend} throws, the thread goes, and the servlet is run again from
 * the top: what lasts is in this object, an attribute of the request. On blocking sockets {@code suspend} waits
 * on the mutex it was made with, which is this object: if it were another, who resumes would be shut out.
 */
final class Jetty6Exchange extends Exchange implements Wire {
    static final String HELD = "held";

    private final HttpServletRequest request;
    private final HttpServletResponse response;

    private Subscriber subscriber;
    private Continuation continuation;
    /** When the hold has passed, ns; 0 for a response without end. */
    private long end;
    /** Something waits to be written. Guarded by this object. */
    private boolean woken;

    Jetty6Exchange(HttpServletRequest request, HttpServletResponse response) {
        this.request = request;
        this.response = response;
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
        return "HTTP/1.1".equals(request.getProtocol());
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
    public void hold(Subscriber held) {
        subscriber = held;
        continuation = ContinuationSupport.getContinuation(request, this);
        if (continuation instanceof WaitingContinuation && ((WaitingContinuation) continuation).getMutex() != this) {
            // 6.1.5 keeps a connection's continuation for its next request, with the mutex of the first.
            continuation = new WaitingContinuation(this);
        }
        end = held.holdMs() == 0 ? 0 : System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(held.holdMs());
        request.setAttribute(HELD, this);
        held.attach(this);
    }

    /**
     * Writes what waits and suspends, until the response has ended. It is for the servlet to call: what
     * {@code suspend} throws is for Jetty, and nobody in between may take it for a failure.
     */
    void serve() {
        while (subscriber != null) {
            continuation.reset();
            synchronized (this) {
                woken = false;
            }
            subscriber.drain();
            if (subscriber.isOver()) {
                return;
            }
            long left = end - System.nanoTime();
            if (end != 0 && left <= 0) {
                subscriber.timeUp();
                continue;
            }
            synchronized (this) {
                if (!woken) {
                    // 0: for as long as it takes. Else rounded up, so that it is over when it comes back.
                    continuation.suspend(end == 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(left) + 1);
                }
            }
        }
    }

    @Override
    public boolean ready() {
        return true; // only the thread that serves drains
    }

    @Override
    public void write(Output output) throws IOException {
        byte[] bytes = output.bytes();
        Answer head = output.head;
        if (head != null) {
            response.setStatus(head.status);
            for (int i = 0; i < head.headers.length; i += 2) {
                response.setHeader(head.headers[i], head.headers[i + 1]);
            }
            if (head.status != HttpServletResponse.SC_NOT_MODIFIED) {
                response.setContentType(head.type);
                if (output.isWhole()) {
                    response.setContentLength(bytes.length);
                }
            }
        }
        OutputStream out = response.getOutputStream();
        out.write(bytes);
        if (output.last) {
            out.close(); // with the last chunk: when this returns, all of it has gone out
        } else {
            response.flushBuffer(); // a head without a body, too
        }
    }

    @Override
    public synchronized void wake(Subscriber waiting) {
        woken = true;
        continuation.resume();
    }
}
