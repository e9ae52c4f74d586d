package pushmark.contract;

import java.nio.charset.StandardCharsets;

/** The last 48 bytes of a measured message (CONTRACT 1.3): written by emitters, read for its sequence. */
final class Stamp {
    static final int LENGTH = 48;
    /** One more than the largest value of each field that an emitter's document sets. */
    static final long NONCES = 2_176_782_336L;
    static final long PUBLISHERS = 1_296;
    static final long CHANNELS = 1_679_616;

    private static final byte[] PREFIX = "pm1:".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz".getBytes(StandardCharsets.US_ASCII);
    /** First byte and length of each field: nonce, publisher, channel, sequence, due, sent. */
    private static final int[][] FIELDS = {{4, 6}, {11, 2}, {14, 4}, {19, 7}, {27, 10}, {38, 10}};

    final long nonce;
    final long publisher;
    final long sequence;

    private Stamp(long nonce, long publisher, long sequence) {
        this.nonce = nonce;
        this.publisher = publisher;
        this.sequence = sequence;
    }

    /** Fills a message: padding, then the stamp. A value wider than its field keeps its low digits. */
    static byte[] message(int size, long nonce, long publisher, long channel, long sequence, long dueUs, long sentUs) {
        byte[] message = new byte[size];
        int start = size - LENGTH;
        for (int i = 0; i < start; i++) {
            message[i] = DIGITS[i % 36];
        }
        System.arraycopy(PREFIX, 0, message, start, PREFIX.length);
        long[] values = {nonce, publisher, channel, sequence, dueUs, sentUs};
        for (int i = 0; i < FIELDS.length; i++) {
            int first = start + FIELDS[i][0];
            if (i > 0) {
                message[first - 1] = ':';
            }
            long value = values[i];
            for (int at = first + FIELDS[i][1] - 1; at >= first; at--) {
                message[at] = DIGITS[(int) (value % 36)];
                value /= 36;
            }
        }
        return message;
    }

    /** The stamp a message ends with, or null. */
    static Stamp of(byte[] message) {
        int start = message.length - LENGTH;
        if (start < 0) {
            return null;
        }
        for (int i = 0; i < PREFIX.length; i++) {
            if (message[start + i] != PREFIX[i]) {
                return null;
            }
        }
        long[] values = new long[FIELDS.length];
        for (int i = 0; i < FIELDS.length; i++) {
            int first = start + FIELDS[i][0];
            if (i > 0 && message[first - 1] != ':') {
                return null;
            }
            for (int at = first; at < first + FIELDS[i][1]; at++) {
                int digit = digit(message[at]);
                if (digit < 0) {
                    return null;
                }
                values[i] = values[i] * 36 + digit;
            }
        }
        return new Stamp(values[0], values[1], values[3]);
    }

    /** The higher of two: another nonce or incarnation begins the count anew (CONTRACT 3.2). */
    static Stamp higher(Stamp last, Stamp seen) {
        if (seen == null) {
            return last;
        }
        boolean same = last != null && last.nonce == seen.nonce && last.publisher == seen.publisher;
        return same && last.sequence >= seen.sequence ? last : seen;
    }

    private static int digit(byte b) {
        if (b >= '0' && b <= '9') {
            return b - '0';
        }
        return b >= 'a' && b <= 'z' ? b - 'a' + 10 : -1;
    }
}
