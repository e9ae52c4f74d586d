package pushmark;

import java.nio.ByteBuffer;

import org.eclipse.jetty.websocket.api.Callback;
import org.eclipse.jetty.websocket.api.Session;
import org.eclipse.jetty.websocket.api.StatusCode;

import pushmark.contract.Contract;
import pushmark.contract.Output;
import pushmark.contract.Publication;
import pushmark.contract.Subscriber;
import pushmark.contract.Wire;

/** A WebSocket: messages go out one after the other, texts come in. Public, as Jetty looks for its methods. */
public final class Jetty12Socket extends Session.Listener.AbstractAutoDemanding implements Wire {
    private final Subscriber subscriber;
    private final Contract contract;
    /** A message is being sent. */
    private volatile boolean busy;

    Jetty12Socket(Subscriber subscriber, Contract contract) {
        this.subscriber = subscriber;
        this.contract = contract;
    }

    @Override
    public void onWebSocketOpen(Session session) {
        super.onWebSocketOpen(session);
        subscriber.attach(this);
    }

    @Override
    public void onWebSocketText(String text) {
        contract.peerMessage(text);
    }

    @Override
    public void onWebSocketError(Throwable cause) {
        subscriber.lost();
    }

    @Override
    public void onWebSocketClose(int code, String reason) {
        subscriber.lost();
    }

    @Override
    public boolean ready() {
        return !busy;
    }

    @Override
    public void write(Output output) {
        busy = true;
        send(output, output.messages(), 0);
    }

    /** Sends from the n-th message on, each when the one before it has gone out. */
    private void send(Output output, Publication[] messages, int n) {
        if (n == messages.length) {
            if (output.last) {
                getSession().close(StatusCode.SHUTDOWN, "the server stops", Callback.NOOP);
                return;
            }
            busy = false;
            subscriber.drain();
            return;
        }
        Callback then = Callback.from(() -> send(output, messages, n + 1), failure -> subscriber.lost());
        String text = messages[n].text();
        if (text != null) {
            getSession().sendText(text, then);
        } else {
            getSession().sendBinary(ByteBuffer.wrap(messages[n].message()), then);
        }
    }
}
