package pushmark.contract;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** One message published on one channel, encoded once for all who hear it the same way. */
public final class Publication {
    static final int MESSAGE_MAX = 1 << 20;

    final String channel;
    final byte[] message;
    final Stamp stamp;
    /** Its place in the order of all publications: what a cursor names (CONTRACT 1.5). */
    final long cursor;

    private volatile byte[] line;
    private volatile byte[] event;
    private volatile String text;

    Publication(String channel, byte[] message, Stamp stamp, long cursor) {
        this.channel = channel;
        this.message = message;
        this.stamp = stamp;
        this.cursor = cursor;
    }

    /** What was published. */
    public byte[] message() {
        return message;
    }

    /** The message as text, as WebSockets send it; null where it is not UTF-8 (CONTRACT 6.6). */
    public String text() {
        if (text == null) {
            try {
                text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(message)).toString();
            } catch (CharacterCodingException e) {
                return null;
            }
        }
        return text;
    }

    /** The message and a line end (CONTRACT 6.4). */
    byte[] line() {
        if (line == null) {
            byte[] bytes = java.util.Arrays.copyOf(message, message.length + 1);
            bytes[message.length] = '\n';
            line = bytes;
        }
        return line;
    }

    /** An event with the cursor as its id; each line of the message is a data line (WHATWG HTML 9.2.5). */
    byte[] event() {
        if (event == null) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(message.length + 40);
            ascii(bytes, "id: " + cursor + "\ndata: ");
            for (int i = 0; i < message.length; i++) {
                boolean end = message[i] == '\n' || message[i] == '\r';
                if (!end) {
                    bytes.write(message[i]);
                } else {
                    ascii(bytes, "\ndata: ");
                    i += message[i] == '\r' && i + 1 < message.length && message[i + 1] == '\n' ? 1 : 0;
                }
            }
            ascii(bytes, "\n\n");
            event = bytes.toByteArray();
        }
        return event;
    }

    private static void ascii(ByteArrayOutputStream bytes, String text) {
        byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
        bytes.write(ascii, 0, ascii.length);
    }
}
