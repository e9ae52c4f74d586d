package pushmark;

import java.io.ByteArrayOutputStream;

import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.websocket.server.ServerWebSocketContainer;

import pushmark.contract.Contract;

/** Reads a request to its end, without waiting for it, and hands it to the contract. */
final class Jetty12Handler extends Handler.Abstract {
    /** Of a longer body the rest is passed over: it is longer than any bound of the contract's. */
    private static final int BODY_MAX = 4 << 20;

    private final Contract contract;
    private final ServerWebSocketContainer sockets;

    Jetty12Handler(Contract contract, ServerWebSocketContainer sockets) {
        this.contract = contract;
        this.sockets = sockets;
    }

    @Override
    public boolean handle(Request request, Response response, Callback callback) {
        read(request, response, callback, new ByteArrayOutputStream());
        return true;
    }

    private void read(Request request, Response response, Callback callback, ByteArrayOutputStream body) {
        boolean last = false;
        while (!last) {
            Content.Chunk chunk = request.read();
            if (chunk == null) {
                request.demand(() -> read(request, response, callback, body));
                return;
            }
            if (Content.Chunk.isFailure(chunk)) {
                callback.failed(chunk.getFailure());
                return;
            }
            byte[] bytes = new byte[chunk.remaining()];
            chunk.get(bytes, 0, bytes.length);
            if (body.size() <= BODY_MAX) {
                body.writeBytes(bytes);
            }
            last = chunk.isLast();
            chunk.release();
        }
        try {
            contract.handle(new Jetty12Exchange(request, response, callback, body.toByteArray(), contract, sockets));
        } catch (Exception e) {
            Response.writeError(request, response, callback, e);
        }
    }
}
