package pushmark.contract;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.Test;

public class EmitterTest {
    private static Emitter emitter(String document) throws Refusal {
        return new Emitter(Json.readObject(document.getBytes(StandardCharsets.UTF_8)), 1_000);
    }

    /** Everything due by an instant, as CHANNEL@DUE, read off the stamps, when it is looked at every so often. */
    private static List<String> due(long untilUs, long stepUs, String... documents) throws Refusal {
        Emitters emitters = new Emitters();
        for (int i = 0; i < documents.length; i++) {
            emitters.set("e" + i, emitter(documents[i]));
        }
        List<Emitter.Tick> ticks = new ArrayList<>();
        for (long nowUs = 1_000; nowUs <= untilUs; nowUs += stepUs) {
            emitters.takeDue(nowUs, Integer.MAX_VALUE, ticks);
        }
        List<String> due = new ArrayList<>();
        for (Emitter.Tick tick : ticks) {
            String stamp = new String(tick.message(0), StandardCharsets.US_ASCII);
            due.add(tick.channel + "@" + Long.parseLong(stamp.substring(stamp.length() - 21, stamp.length() - 11), 36));
        }
        return due;
    }

    @Test
    public void publicationsAreDueOnTheAbsoluteScheduleHoweverLateItIsLookedAt() throws Refusal {
        String two = "{\"interval_us\":100,\"size\":48,\"channels\":[\"a\",\"b\"],\"nonce\":1,\"phases_us\":[30,10]}";
        List<String> expected = Arrays.asList("b@1010", "a@1030", "b@1110", "a@1130", "b@1210");
        for (long stepUs : new long[] {1, 7, 55}) {
            assertEquals(expected, due(1_220, stepUs, two));
        }
    }

    @Test
    public void emittersInterleaveByDueAndEndAfterTheirCount() throws Refusal {
        String fast = "{\"interval_us\":100,\"size\":48,\"channels\":[\"a\"],\"nonce\":1,\"count\":3}";
        String slow = "{\"interval_us\":250,\"size\":48,\"channels\":[\"b\"],\"nonce\":1,\"start_us\":1050}";
        assertEquals(Arrays.asList("a@1000", "b@1050", "a@1100", "a@1200", "b@1300"), due(1_400, 400, fast, slow));
    }

    @Test
    public void whatCannotBeIsRefusedWithWhatIsAccepted() {
        String[][] wrong = {
            {"\"phases_us\":[100]", "phases_us: found 100, accepted: 0 to 99"},
            {"\"channel_indexes\":[1,2]", "channel_indexes: found 2 values for 1 channels"},
            {"\"size\":47", "size: found 47, accepted: 48 to 1048576"},
            {"\"channels\":[\"a b\"]", "channels: no such name: \"a b\""},
            {"\"every\":1", "unknown key every"},
        };
        for (String[] row : wrong) {
            try {
                emitter("{\"interval_us\":100,\"size\":48,\"channels\":[\"a\"],\"nonce\":1," + row[0] + "}");
                fail(row[0] + " was followed");
            } catch (Refusal refusal) {
                assertTrue(refusal.getMessage(), refusal.getMessage().startsWith(row[1]));
            }
        }
    }
}
