package pushmark;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.eclipse.jetty.http.HttpField;
import org.eclipse.jetty.http.HttpHeader;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.http.HttpVersion;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.Scheduler;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

import pushmark.contract.Answer;
import pushmark.contract.Contract;
import pushmark.contract.Exchange;
import pushmark.contract.Output;
import pushmark.contract.Subscriber;
import pushmark.contract.Wire;

/** A request and its response; held, it is written to by whoever publishes, one write at a time. */
final class Jetty12Exchange extends Exchange implements Wire {
    private final Request request;
    private final Response response;
    private final Callback callback;
    private final byte[] body;
    private final Contract contract;
    private final ServerWebSocketContainer sockets;
    private Subscriber subscriber;
    private Scheduler.Task hold;
    /** A write is under way. */
    private volatile boolean busy;

    Jetty12Exchange(Request request, Response response, Callback callback, byte[] body, Contract contract,
            ServerWebSocketContainer sockets) {
        this.request = request;
        this.response = response;
        this.callback = callback;
        this.body = body;
        this.contract = contract;
        this.sockets = sockets;
    }

    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
    public String path() {
        return request.getHttpURI().getPath();
    }

    @Override
    public String query() {
        return request.getHttpURI().getQuery();
    }

    @Override
    public String header(String name) {
        return request.getHeaders().get(name);
    }

    @Override
    public boolean isHttp11() {
        return request.getConnectionMetaData().getHttpVersion() == HttpVersion.HTTP_1_1;
    }

    @Override
    public byte[] body(int max) {
        return body.length <= max ? body : Arrays.copyOf(body, max + 1);
    }

    @Override
    public void answer(Answer answer) {
        Output output = Output.whole(answer);
        head(output);
        response.write(true, ByteBuffer.wrap(output.bytes()), callback);
    }

    @Override
    public void hold(Subscriber held) {
        subscriber = held;
        request.addIdleTimeoutListener(timeout -> false); // idle is what it is to be
        request.addFailureListener(failure -> held.lost());
        if (held.holdMs() > 0) {
            Scheduler scheduler = request.getComponents().getScheduler();
            hold = scheduler.schedule(held::timeUp, held.holdMs(), TimeUnit.MILLISECONDS);
        }
        held.attach(this);
    }

    @Override
    public void upgrade(Subscriber held) {
        Jetty12Socket socket = new Jetty12Socket(held, contract);
        sockets.upgrade((asked, answered, refused) -> {
            answered.setExtensions(java.util.List.of()); // CONTRACT 3.4
            if (held.acknowledgement() != null) {
                answered.getHeaders().put("pushmark-subscribed", held.acknowledgement());
            }
            return socket;
        }, request, response, callback);
    }

    @Override
    public boolean ready() {
        return !busy;
    }

    @Override
    public void write(Output output) {
        if (output.head != null) {
            head(output);
        }
        if (output.last && hold != null) {
            hold.cancel();
        }
        busy = true;
        response.write(output.last, ByteBuffer.wrap(output.bytes()), Callback.from(() -> {
            busy = false;
            if (output.last) {
                callback.succeeded();
            } else {
                subscriber.drain();
            }
        }, failure -> {
            subscriber.lost();
            callback.failed(failure);
        }));
    }

    private void head(Output output) {
        Answer head = output.head;
        response.setStatus(head.status);
        for (int i = 0; i < head.headers.length; i += 2) {
            response.getHeaders().put(new HttpField(head.headers[i], head.headers[i + 1]));
        }
        if (head.status != HttpStatus.NOT_MODIFIED_304) {
            response.getHeaders().put(HttpHeader.CONTENT_TYPE, head.type);
            if (output.isWhole()) {
                response.getHeaders().put(HttpHeader.CONTENT_LENGTH, output.bytes().length);
            }
        }
    }
}
