package pushmark.contract;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;

import java.nio.charset.StandardCharsets;
import org.junit.Test;

public class StampTest {
    private static Stamp stamp(long nonce, long publisher, long sequence) {
        return Stamp.of(Stamp.message(48, nonce, publisher, 0, sequence, 0, 0));
    }

    @Test
    public void everyFieldIsBase36AndPaddingComesFirst() {
        byte[] message = Stamp.message(52, 36 * 36 + 35, 71, 37, 36, 1_000_000, 1_000_001);
        assertEquals("0123pm1:00010z:1z:0011:0000010:000000lfls:000000lflt",
                new String(message, StandardCharsets.US_ASCII));
    }

    @Test
    public void whatIsWrittenIsRead() {
        Stamp stamp = stamp(Stamp.NONCES - 1, 1_295, 78_364_164_095L);
        assertEquals(Stamp.NONCES - 1, stamp.nonce);
        assertEquals(1_295, stamp.publisher);
        assertEquals(78_364_164_095L, stamp.sequence);
    }

    @Test
    public void whatIsNoStampIsNone() {
        byte[] message = Stamp.message(48, 1, 0, 0, 7, 0, 0);
        assertNull(Stamp.of("pm1:".getBytes(StandardCharsets.US_ASCII)));
        for (int at : new int[] {0, 10, 12, 18, 26, 37, 47}) {
            byte[] changed = message.clone();
            changed[at] = '!';
            assertNull("byte " + at, Stamp.of(changed));
        }
    }

    @Test
    public void aNewNonceOrIncarnationBeginsTheCountAnew() {
        Stamp seven = stamp(1, 0, 7);
        assertSame(seven, Stamp.higher(seven, stamp(1, 0, 6)));
        assertSame(seven, Stamp.higher(seven, null));
        for (Stamp other : new Stamp[] {stamp(1, 0, 8), stamp(2, 0, 0), stamp(1, 1, 0)}) {
            assertSame(other, Stamp.higher(seven, other));
        }
    }
}
