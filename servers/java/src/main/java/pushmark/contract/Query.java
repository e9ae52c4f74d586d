package pushmark.contract;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** The part of a target after the question mark, read as CONTRACT 6 wants it. */
final class Query {
    private static final long HOLD_DEFAULT_MS = 30_000;
    private static final long HOLD_MAX_MS = 3_600_000;
    private static final int NAME_MAX = 128;

    private final String text;

    Query(String text) {
        this.text = text == null ? "" : text;
    }

    /** The first value of that name, decoded; null where there is none. */
    String find(String name) throws Refusal {
        for (String pair : text.split("&")) {
            if (pair.startsWith(name) && pair.startsWith("=", name.length())) {
                return decode(pair.substring(name.length() + 1));
            }
        }
        return null;
    }

    /** The channels asked for, sorted: at least one, each once. */
    List<String> channels() throws Refusal {
        String list = find("channel");
        TreeSet<String> names = new TreeSet<>();
        for (String name : (list == null ? "" : list).split(",", -1)) {
            if (!isName(name)) {
                throw new Refusal(400, "channel=NAME[,NAME...] is needed; a name is 1 to 128 visible ASCII"
                        + " characters without , = \" and \\");
            }
            names.add(name);
        }
        return new ArrayList<>(names);
    }

    /** The one channel of a publication. */
    String channel() throws Refusal {
        List<String> names = channels();
        if (names.size() != 1) {
            throw new Refusal(400, "one channel at a time is published to");
        }
        return names.get(0);
    }

    /** Whether a text can name a channel or an emitter (CONTRACT 1.1). */
    static boolean isName(String name) {
        boolean visible = !name.isEmpty() && name.length() <= NAME_MAX;
        for (int i = 0; visible && i < name.length(); i++) {
            char c = name.charAt(i);
            visible = c > ' ' && c < 0x7f && ",=\"\\".indexOf(c) < 0;
        }
        return visible;
    }

    long holdMs() throws Refusal {
        String hold = find("hold");
        return hold == null ? HOLD_DEFAULT_MS : holdMs("hold", cursor(hold));
    }

    /** A hold as a number of ms, found under that key. */
    static long holdMs(String key, Long ms) throws Refusal {
        if (ms == null || ms < 0 || ms > HOLD_MAX_MS) {
            throw new Refusal(400, key + " is a number of ms, at most " + HOLD_MAX_MS);
        }
        return ms;
    }

    /** From where a poll wishes to hear: null where it did not say, empty for now on, or a cursor. */
    String since() throws Refusal {
        String since = find("since");
        if (since != null && !since.isEmpty() && cursor(since) == null) {
            throw new Refusal(400, "since is a cursor of this server, or empty");
        }
        return since;
    }

    /** The number that a text is, or null. */
    static Long cursor(String text) {
        return text != null && text.matches("[0-9]{1,18}") ? Long.valueOf(text) : null;
    }

    /** Undoes percent-encoding (RFC 3986, section 2.1). */
    static String decode(String text) throws Refusal {
        if (text.indexOf('%') < 0) {
            return text;
        }
        ByteBuffer bytes = ByteBuffer.allocate(text.length());
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != '%') {
                bytes.put((byte) c);
                continue;
            }
            String digits = text.substring(i + 1, Math.min(i + 3, text.length()));
            if (!digits.matches("[0-9a-fA-F]{2}")) {
                throw new Refusal(400, "bad percent-encoding");
            }
            bytes.put((byte) Integer.parseInt(digits, 16));
            i += 2;
        }
        bytes.flip();
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(bytes).toString();
        } catch (CharacterCodingException e) {
            throw new Refusal(400, "bad percent-encoding");
        }
    }
}
