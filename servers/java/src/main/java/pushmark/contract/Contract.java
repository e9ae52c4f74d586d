package pushmark.contract;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The contract of a reference server: what each path does. Servers hand it their {@link Exchange}s. */
public final class Contract {
    /** Longest text of a WebSocket's client that can be a publication: a message and the line before it. */
    public static final int PEER_TEXT_MAX = Publication.MESSAGE_MAX + 256;

    /** Everything on the channels from now on: what is newer than no cursor can be. */
    private static final long NOW = Long.MAX_VALUE;
    private static final int DOCUMENT_MAX = 4 << 20;
    private static final List<String> PATHS = Arrays.asList("/health", "/time", "/stats", "/log", "/shutdown",
            "/publish", "/emitters", "/poll", "/long-poll", "/stream", "/sse", "/ws", "/request");

    private final Hub hub = new Hub();
    private final Emitters emitters = new Emitters();
    private final Pump pump = new Pump(hub, emitters);
    private final Facts facts;
    private final Runnable stop;
    private volatile boolean logging;

    /** What only the server knows: added to the document of {@code /stats}. */
    public interface Facts {
        void describe(Map<String, Object> document) throws Exception;

        /** Whether it hears that a client has gone before it writes to it (CONTRACT 2.3). */
        boolean seesDepartures();
    }

    /** {@code stop} is run when somebody asks the server to stop. */
    public Contract(Facts facts, Runnable stop) {
        this.facts = facts;
        this.stop = stop;
        hub.pumpIs(pump);
        pump.start();
    }

    /** Where a server counts what only it can see. */
    public Stats stats() {
        return hub.stats;
    }

    /** Everything that is published goes to this relay, too. */
    public void relayTo(Relay relay) {
        hub.relay = relay;
    }

    /** Something was published on the relay's side, and has its subscribers there. */
    public void publishedThere(String channel, byte[] message) throws Refusal {
        hub.note(channel, message);
    }

    /** Answers a request, or keeps it. */
    public void handle(Exchange exchange) throws Exception {
        hub.stats.add(Stats.REQUESTS);
        if (logging) {
            System.err.println(exchange.method() + " " + exchange.path() + " " + exchange.query());
        }
        Answer answer;
        try {
            answer = route(exchange);
        } catch (Refusal refusal) {
            hub.stats.add(Stats.BAD_REQUESTS);
            answer = Answer.refusal(refusal);
        }
        if (answer != null) {
            exchange.answer(answer);
        }
        if (answer == STOPPING) {
            stop.run();
        }
    }

    /** A text of a WebSocket's client: one that begins with "publish CHANNEL" publishes (CONTRACT 6.6). */
    public void peerMessage(String text) {
        int end = text.indexOf('\n');
        if (end < 0 || !text.startsWith("publish ")) {
            return;
        }
        String channel = text.substring("publish ".length(), end);
        byte[] message = Answer.utf8(text.substring(end + 1));
        if (!Query.isName(channel) || message.length == 0 || message.length > Publication.MESSAGE_MAX) {
            return;
        }
        try {
            hub.publish(channel, message);
        } catch (Refusal refusal) {
            // It is counted; a WebSocket has nowhere to say it.
            return;
        }
    }

    /** No publications any more; polls are answered, lasting responses end (CONTRACT 2.5). Returns when they have. */
    public void stop() {
        emitters.clearAll();
        List<Subscriber> held = hub.stop();
        for (Subscriber subscriber : held) {
            subscriber.stop();
        }
        for (Subscriber subscriber : held) {
            subscriber.awaitOver(Server.WRITE_MS);
        }
    }

    private static final Answer STOPPING = Answer.json(200, Json.object("stopping", true));

    private Answer route(Exchange exchange) throws Exception {
        Query query = new Query(exchange.query());
        String path = exchange.path();
        boolean emitter = path.startsWith("/emitters/");
        switch (exchange.method() + " " + (emitter ? "/emitters/" : path)) {
            case "GET /health": return new Answer(200, "text/plain", Answer.utf8("ok"));
            case "GET /time": return time(query);
            case "GET /stats": return statistics();
            case "POST /log": return log(document(exchange));
            case "POST /shutdown": return STOPPING;
            case "POST /publish": return publish(query.channel(), exchange);
            case "PUT /emitters/": return setEmitter(emitterName(path), document(exchange));
            case "DELETE /emitters/": return clearEmitter(emitterName(path));
            case "DELETE /emitters": return clearEmitters();
            case "GET /poll": return poll(query, exchange.header("If-None-Match"));
            case "GET /long-poll": return longPoll(query, exchange);
            case "GET /stream": return lasting(Transport.STREAM, query, exchange);
            case "GET /sse": return lasting(Transport.SSE, query, exchange);
            case "GET /ws": return webSocket(query, exchange);
            case "POST /request": return request(exchange);
            default:
        }
        if (emitter || PATHS.contains(path)) {
            throw new Refusal(405, "this path has another method: CONTRACT.md lists them");
        }
        throw new Refusal(404, "no such path; there are " + String.join(" ", PATHS));
    }

    private Answer time(Query query) throws Refusal {
        String client = query.find("client");
        Long number = Query.cursor(client);
        return Answer.json(200, Json.object("client", number != null ? number : client == null ? "" : client,
                "monotonic_us", Clock.us(), "realtime_us", Clock.realtimeUs()));
    }

    private Answer statistics() throws Exception {
        Map<String, Object> document = Json.object("clock", "monotonic", "grain_us", 1, "emitter", "absolute",
                "sees_departures", facts.seesDepartures(),
                "logging", logging, "emitters", emitters.size());
        facts.describe(document);
        hub.describe(document);
        hub.stats.describe(document);
        return Answer.json(200, document);
    }

    private Answer log(Map<String, Object> document) throws Refusal {
        if (document.size() != 1 || !(document.get("on") instanceof Boolean)) {
            throw new Refusal(400, "accepted: {\"on\": true} and {\"on\": false}");
        }
        logging = (Boolean) document.get("on");
        return Answer.json(200, document);
    }

    private Answer publish(String channel, Exchange exchange) throws Exception {
        byte[] message = exchange.body(Publication.MESSAGE_MAX);
        if (message.length == 0 || message.length > Publication.MESSAGE_MAX) {
            throw new Refusal(413, "a message has 1 byte to 1 MiB");
        }
        long[] accepted = hub.publish(channel, message);
        return Answer.json(200, Json.object("channel", channel, "subscribers", accepted[0], "queued", accepted[1]));
    }

    private Answer setEmitter(String name, Map<String, Object> document) throws Refusal {
        Emitter emitter = new Emitter(document, Clock.us());
        boolean changed = emitters.set(name, emitter);
        hub.wakePump();
        if (changed) {
            pump.awaitEmitted();
        }
        return Answer.json(200, Json.object("name", name, "start_us", emitter.startUs, "changed", changed));
    }

    private Answer clearEmitter(String name) throws Refusal {
        emitters.clear(name);
        pump.awaitEmitted();
        return Answer.json(200, Json.object("cleared", 1));
    }

    private Answer clearEmitters() {
        int cleared = emitters.clearAll();
        pump.awaitEmitted();
        return Answer.json(200, Json.object("cleared", cleared));
    }

    private static String emitterName(String path) throws Refusal {
        String name = Query.decode(path.substring("/emitters/".length()));
        if (!name.matches("[-_.A-Za-z0-9]{1,128}")) {
            throw new Refusal(400, "an emitter's name is 1 to 128 letters, digits, - _ and .");
        }
        return name;
    }

    private Answer poll(Query query, String known) throws Refusal {
        String since = query.since();
        hub.stats.add(Stats.POLLS);
        Hub.State state = hub.state(query.channels(), since == null ? null : cursor(since));
        if (since != null) {
            return messages(state);
        }
        long newest = 0;
        for (Publication publication : state.messages) {
            newest = Math.max(newest, publication.cursor);
        }
        String etag = '"' + Long.toString(newest) + '"';
        boolean unchanged = known != null && names(known, etag);
        Answer answer = messages(unchanged ? state.without() : state);
        List<String> headers = new ArrayList<>(Arrays.asList(answer.headers));
        Collections.addAll(headers, "ETag", etag);
        return new Answer(unchanged ? 304 : 200, answer.type, answer.body, headers.toArray(new String[0]));
    }

    /** Whether an If-None-Match names a tag: it is a list, and compares weakly (RFC 9110, section 13.1.2). */
    private static boolean names(String list, String etag) {
        for (String name : list.split(",")) {
            if (name.trim().equals("*") || name.trim().replaceFirst("^W/", "").equals(etag)) {
                return true;
            }
        }
        return false;
    }

    private Answer longPoll(Query query, Exchange exchange) throws Exception {
        List<String> channels = query.channels();
        String since = query.since();
        long holdMs = query.holdMs();
        if (since != null && since.isEmpty()) {
            return messages(hub.state(channels, NOW));
        }
        return subscribe(new Subscriber(hub, Transport.LONG_POLL, channels, holdMs, null), cursor(since), exchange);
    }

    private Answer lasting(Transport transport, Query query, Exchange exchange) throws Exception {
        List<String> channels = query.channels();
        needsHttp11(exchange);
        Long after = null;
        if (transport == Transport.SSE) {
            // WHATWG HTML 9.2.4: a client that comes back says what it saw last. What is no cursor is passed over.
            after = Query.cursor(exchange.header("Last-Event-ID"));
            after = after == null ? Long.valueOf(NOW) : after;
        }
        return subscribe(new Subscriber(hub, transport, channels, 0, null), after, exchange);
    }

    private Answer webSocket(Query query, Exchange exchange) throws Exception {
        // A WebSocket that only publishes has no channel.
        List<String> channels = query.find("channel") == null ? Collections.<String>emptyList() : query.channels();
        needsHandshake(exchange);
        Subscriber subscriber = new Subscriber(hub, Transport.WEBSOCKET, channels, 0, null);
        hub.subscribe(subscriber, null);
        try {
            exchange.upgrade(subscriber);
        } catch (Exception e) {
            subscriber.lost();
            throw e;
        }
        return null;
    }

    private Answer request(Exchange exchange) throws Exception {
        byte[] body = exchange.body(Instrumented.DOCUMENT_MAX);
        if (body.length > Instrumented.DOCUMENT_MAX) {
            throw new Refusal(413, "a request's document has at most 16 KiB");
        }
        Instrumented request = new Instrumented(Json.readObject(body), hub.requests());
        needsHttp11(exchange);
        return subscribe(new Subscriber(hub, request.transport, request.channels, request.durationMs, request), null,
                exchange);
    }

    /** Lists a subscriber and keeps its response, or gives the answer that it gets at once. */
    private Answer subscribe(Subscriber subscriber, Long since, Exchange exchange) throws Exception {
        List<Publication> missed = hub.subscribe(subscriber, since);
        if (!missed.isEmpty()) {
            hub.stats.add(Stats.LONG_POLL_ANSWERS);
            return messages(new Hub.State(missed, subscriber.cursor, subscriber.acknowledgement));
        }
        try {
            exchange.hold(subscriber);
        } catch (Exception e) {
            subscriber.lost();
            throw e;
        }
        return null;
    }

    /** An answer of messages with a line end between two. */
    private Answer messages(Hub.State state) {
        List<byte[]> parts = new ArrayList<>();
        for (Publication publication : state.messages) {
            if (!parts.isEmpty()) {
                parts.add(new byte[] {'\n'});
            }
            parts.add(publication.message);
        }
        hub.stats.add(Stats.DELIVERIES, state.messages.size());
        return new Answer(200, "text/plain", Output.join(parts.toArray(new byte[0][])),
                Subscriber.headers(state.cursor, state.acknowledgement));
    }

    private static Long cursor(String since) {
        return since != null && since.isEmpty() ? Long.valueOf(NOW) : Query.cursor(since);
    }

    /** What RFC 6455, section 4.2.1, wants of a handshake. */
    private static void needsHandshake(Exchange exchange) throws Refusal {
        needsHttp11(exchange);
        String connection = exchange.header("Connection");
        boolean upgrade = "websocket".equalsIgnoreCase(exchange.header("Upgrade")) && connection != null
                && connection.toLowerCase(Locale.ROOT).contains("upgrade");
        if (!upgrade || !"13".equals(exchange.header("Sec-WebSocket-Version"))) {
            throw new Refusal(426, "this is a WebSocket of version 13: ask for an upgrade");
        }
        String key = exchange.header("Sec-WebSocket-Key");
        if (key == null || !key.matches("[A-Za-z0-9+/]{22}==")) {
            throw new Refusal(400, "Sec-WebSocket-Key: 16 bytes in base64 are needed");
        }
    }

    private static void needsHttp11(Exchange exchange) throws Refusal {
        if (!exchange.isHttp11()) {
            throw new Refusal(400, "HTTP/1.1 is needed");
        }
    }

    private static Map<String, Object> document(Exchange exchange) throws Exception {
        byte[] body = exchange.body(DOCUMENT_MAX);
        if (body.length > DOCUMENT_MAX) {
            throw new Refusal(413, "a document has at most 4 MiB");
        }
        return Json.readObject(body);
    }
}
