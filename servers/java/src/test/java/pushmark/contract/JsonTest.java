package pushmark.contract;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;
import static org.junit.Assert.fail;

import java.nio.charset.StandardCharsets;
import org.junit.Test;

public class JsonTest {
    private static String again(String json) throws Refusal {
        return Json.write(Json.read(json.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    public void whatIsReadIsWrittenInItsOrder() throws Refusal {
        String json = "{\"b\":[1,-2,0.5,true,null],\"a\":{\"\":\"q\\\"\\\\\\nü€\\u0001\"},\"c\":[],\"d\":{}}";
        assertEquals(json, again(json));
        assertEquals("{\"a\":[1,\"é/\"]}", again(" { \"a\" : [ 1 , \"\\u00e9\\/\" ] } "));
        assertEquals("[123456789012345678,1.0E300]", again("[123456789012345678,1e300]"));
    }

    @Test
    public void whatIsNoJsonIsRefusedWithItsPlace() {
        String[] wrong = {"", "{", "{\"a\"}", "{\"a\":}", "{a:1}", "[1,]", "[1 2]", "01", "+1", "1.", "nul", "\"", "\"\t\"",
            "\"\\x\"", "\"\\u12g4\"", "{} {}", "--1"};
        for (String json : wrong) {
            try {
                fail(json + " was read as " + again(json));
            } catch (Refusal refusal) {
                assertEquals(400, refusal.status);
                assertTrue(refusal.getMessage(), refusal.getMessage().startsWith("JSON, character "));
            }
        }
    }

    @Test
    public void nestingIsBounded() {
        try {
            fail(again("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["));
        } catch (Refusal refusal) {
            assertTrue(refusal.getMessage(), refusal.getMessage().contains("at most 32 levels"));
        }
    }
}
