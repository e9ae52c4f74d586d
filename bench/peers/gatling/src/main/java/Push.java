import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.ScenarioBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.http.action.ws.WsInboundMessage;
import java.net.URI;
import java.time.Duration;

/**
 * A user of Gatling that hears pushes, over a WebSocket or over Server-Sent Events.
 *
 * <p>What no check waits for lands in a bounded buffer of each user, with the instant it came; a user
 * who wants to see it takes it out from time to time. Left there, it is dropped without a word.
 */
public class Push extends Simulation {
  private static final String ADDRESS = System.getenv("URL");
  private static final int N = Integer.parseInt(System.getenv("N"));
  private static final double SECONDS_TO_CONNECT = Double.parseDouble(System.getenv("CONNECT_S"));
  private static final long CLOSES_MS = System.currentTimeMillis() + Long.parseLong(System.getenv("HOLD_MS"));
  private static final Duration DRAINED_EVERY = Duration.ofMillis(500);
  /** More than a user hears between two drains. */
  private static final int BUFFER = 1_000;

  private final Ages ages = new Ages();

  {
    URI address = URI.create(ADDRESS);
    String path = address.getRawPath() + "?" + address.getRawQuery();
    String host = address.getHost() + ":" + address.getPort();
    boolean overWebSocket = address.getScheme().equals("ws");
    ChainBuilder hears = overWebSocket ? webSocket(path) : events(path);
    ScenarioBuilder crowd = scenario("push").exec(hears);
    Duration ramp = Duration.ofMillis(Math.round(SECONDS_TO_CONNECT * 1e3));
    setUp(crowd.injectOpen(rampUsers(N).during(ramp)))
        .protocols(
            http.baseUrl("http://" + host)
                .wsBaseUrl("ws://" + host)
                .wsUnmatchedInboundMessageBufferSize(BUFFER)
                .sseUnmatchedInboundMessageBufferSize(BUFFER));
  }

  private ChainBuilder webSocket(String path) {
    return exec(ws("open").connect(path))
        .asLongAs(session -> goesOn())
        .on(
            pause(DRAINED_EVERY),
            ws.processUnmatchedMessages(
                (messages, session) -> {
                  for (WsInboundMessage message : messages) {
                    if (message instanceof WsInboundMessage.Text text) {
                      ages.heard(text.message(), text.timestamp());
                    }
                  }
                  return session;
                }))
        .exec(ws("close").close());
  }

  private ChainBuilder events(String path) {
    return exec(sse("open").get(path))
        .asLongAs(session -> goesOn())
        .on(
            pause(DRAINED_EVERY),
            sse.processUnmatchedMessages(
                (messages, session) -> {
                  messages.forEach(message -> ages.heard(message.message(), message.timestamp()));
                  return session;
                }))
        .exec(sse("close").close());
  }

  private static boolean goesOn() {
    return System.currentTimeMillis() < CLOSES_MS;
  }

  @Override
  public void after() {
    System.out.println(ages.said());
  }
}
