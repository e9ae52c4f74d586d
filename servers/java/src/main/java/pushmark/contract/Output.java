package pushmark.contract;

import java.util.Collections;
import java.util.List;

/** What is to be written to one client in one write (CONTRACT 3.6). */
public final class Output {
    /** Status and headers, where they have not gone out yet; else null. */
    public final Answer head;
    /** Whether the response ends with this. */
    public final boolean last;
    private final List<Frame> frames;

    /** A delivery as its transport writes it. */
    static final class Frame {
        final byte[] bytes;
        final Publication publication;

        Frame(byte[] bytes, Publication publication) {
            this.bytes = bytes;
            this.publication = publication;
        }
    }

    Output(Answer head, List<Frame> frames, boolean last) {
        this.head = head;
        this.frames = frames;
        this.last = last;
    }

    /** An answer that is given whole. */
    public static Output whole(Answer answer) {
        return new Output(answer, Collections.<Frame>emptyList(), true);
    }

    /** Whether the length of the whole body is known: it is this output's. */
    public boolean isWhole() {
        return head != null && last;
    }

    /** The bytes of the body that go out now. */
    public byte[] bytes() {
        byte[] before = head == null || head.body == null ? Answer.EMPTY : head.body;
        if (frames.isEmpty()) {
            return before;
        }
        if (frames.size() == 1 && before.length == 0) {
            return frames.get(0).bytes;
        }
        byte[][] parts = new byte[frames.size() + 1][];
        parts[0] = before;
        for (int i = 0; i < frames.size(); i++) {
            parts[i + 1] = frames.get(i).bytes;
        }
        return join(parts);
    }

    static byte[] join(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) {
            length += part.length;
        }
        byte[] joined = new byte[length];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, joined, at, part.length);
            at += part.length;
        }
        return joined;
    }

    int deliveries() {
        return frames.size();
    }

    /** The messages in it, for transports that have frames of their own. */
    public Publication[] messages() {
        Publication[] messages = new Publication[frames.size()];
        for (int i = 0; i < messages.length; i++) {
            messages[i] = frames.get(i).publication;
        }
        return messages;
    }
}
