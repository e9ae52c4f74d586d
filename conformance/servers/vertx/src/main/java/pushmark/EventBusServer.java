package pushmark;

import java.util.logging.LogManager;

import io.vertx.core.Vertx;
import io.vertx.ext.bridge.PermittedOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.handler.sockjs.SockJSBridgeOptions;
import io.vertx.ext.web.handler.sockjs.SockJSHandler;

/**
 * The event bus of Vert.x behind its SockJS bridge at {@code /eventbus}: anybody may register and publish at any
 * address, and what is posted to {@code /publish/ADDRESS} is published too.
 *
 * <p>It listens on a port of the system's choice, which it prints as JSON.
 */
public final class EventBusServer {
    /** A client that sends no ping in this time is thrown out, ms. */
    private static final long PING_TIMEOUT = 5_000;

    private EventBusServer() {
    }

    public static void main(String[] args) {
        // It logs every client that goes without a word.
        LogManager.getLogManager().reset();
        Vertx vertx = Vertx.vertx();
        PermittedOptions any = new PermittedOptions().setAddressRegex(".*");
        SockJSBridgeOptions options = new SockJSBridgeOptions()
            .addInboundPermitted(any)
            .addOutboundPermitted(any)
            .setPingTimeout(PING_TIMEOUT);
        Router router = Router.router(vertx);
        router.route("/eventbus*").subRouter(SockJSHandler.create(vertx).bridge(options));
        router.post("/publish/:address").handler(context -> context.request().body().onSuccess(body -> {
            vertx.eventBus().publish(context.pathParam("address"), body.toString());
            context.end("published");
        }));
        vertx.createHttpServer().requestHandler(router).listen(0, "127.0.0.1")
            .onSuccess(server -> System.out.println("{\"port\": " + server.actualPort() + "}"))
            .onFailure(error -> {
                System.err.println(error);
                System.exit(1);
            });
    }
}
