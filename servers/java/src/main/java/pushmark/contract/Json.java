package pushmark.contract;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * JSON (RFC 8259) to and from plain values: Map, List, String, Long, Double, Boolean and null. An object keeps
 * the order of its members. What is wrong is said with its place.
 */
public final class Json {
    /** Deepest nesting that is read. */
    private static final int DEPTH_MAX = 32;

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** An object of these members: key, value, key, value. */
    public static Map<String, Object> object(Object... members) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < members.length; i += 2) {
            object.put((String) members[i], members[i + 1]);
        }
        return object;
    }

    /** Reads a body that must be one object. */
    @SuppressWarnings("unchecked") // an object's keys are strings: RFC 8259, section 4
    static Map<String, Object> readObject(byte[] body) throws Refusal {
        Object value = read(body);
        if (!(value instanceof Map)) {
            throw new Refusal(400, "a JSON object is needed");
        }
        return (Map<String, Object>) value;
    }

    static Object read(byte[] body) throws Refusal {
        Json json;
        try {
            json = new Json(StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
        } catch (CharacterCodingException e) {
            throw new Refusal(400, "the body is not UTF-8");
        }
        Object value = json.value();
        json.space();
        if (json.at < json.text.length()) {
            throw json.wrong("the end");
        }
        return value;
    }

    /** Writes a value on one line. */
    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value);
        return out.toString();
    }

    private static void write(StringBuilder out, Object value) {
        if (value instanceof Map) {
            char before = '{';
            for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
                out.append(before);
                quote(out, (String) member.getKey());
                out.append(':');
                write(out, member.getValue());
                before = ',';
            }
            out.append(before == '{' ? "{}" : "}");
        } else if (value instanceof List) {
            char before = '[';
            for (Object item : (List<?>) value) {
                out.append(before);
                write(out, item);
                before = ',';
            }
            out.append(before == '[' ? "[]" : "]");
        } else if (value instanceof String) {
            quote(out, (String) value);
        } else {
            out.append(value);
        }
    }

    private static void quote(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private Object value() throws Refusal {
        space();
        char c = at < text.length() ? text.charAt(at) : 0;
        switch (c) {
            case '{': return nested(true);
            case '[': return nested(false);
            case '"': return string();
            case 't': return word("true", Boolean.TRUE);
            case 'f': return word("false", Boolean.FALSE);
            case 'n': return word("null", null);
            default: return number();
        }
    }

    private Object nested(boolean object) throws Refusal {
        Map<String, Object> members = object ? new LinkedHashMap<>() : null;
        List<Object> items = object ? null : new ArrayList<>();
        char close = object ? '}' : ']';
        if (++depth > DEPTH_MAX) {
            throw wrong("at most " + DEPTH_MAX + " levels");
        }
        at++;
        space();
        if (!next(close)) {
            do {
                space();
                if (object) {
                    String key = string();
                    space();
                    if (!next(':')) {
                        throw wrong(":");
                    }
                    members.put(key, value());
                } else {
                    items.add(value());
                }
                space();
            } while (next(','));
            if (!next(close)) {
                throw wrong(", or " + close);
            }
        }
        depth--;
        return object ? members : items;
    }

    private String string() throws Refusal {
        if (!next('"')) {
            throw wrong("a string");
        }
        StringBuilder string = new StringBuilder();
        while (at < text.length() && text.charAt(at) >= ' ') {
            char c = text.charAt(at++);
            if (c == '"') {
                return string.toString();
            }
            string.append(c == '\\' ? escaped() : c);
        }
        throw wrong("the end of a string");
    }

    private char escaped() throws Refusal {
        char c = at < text.length() ? text.charAt(at++) : 0;
        int plain = "\"\\/bfnrt".indexOf(c);
        if (plain >= 0 && c != 0) {
            return "\"\\/\b\f\n\r\t".charAt(plain);
        }
        if (c == 'u' && at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}")) {
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
        throw wrong("an escape");
    }

    private Object word(String word, Object value) throws Refusal {
        if (!text.startsWith(word, at)) {
            throw wrong("a value");
        }
        at += word.length();
        return value;
    }

    private Object number() throws Refusal {
        int start = at;
        while (at < text.length() && "+-.0123456789eE".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(start, at);
        if (!number.matches("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?")) {
            at = start;
            throw wrong("a value");
        }
        if (number.matches("-?[0-9]{1,18}")) {
            return Long.valueOf(number);
        }
        return Double.valueOf(number);
    }

    private boolean next(char c) {
        boolean there = at < text.length() && text.charAt(at) == c;
        at += there ? 1 : 0;
        return there;
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private Refusal wrong(String expected) {
        String found = at < text.length() ? "'" + text.charAt(at) + "'" : "the end";
        return new Refusal(400, "JSON, character " + at + ": found " + found + ", expected " + expected);
    }
}
