package pushmark.contract;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

/** The command line of a server: {@code --name value}, each name with what it accepts. */
public final class Options {
    private final Map<String, String> accepted = new LinkedHashMap<>();
    private final Map<String, String> values = new HashMap<>();

    /** Every server takes a port (CONTRACT 2.6) and the number of its threads. */
    public Options() {
        number("port", 0).number("threads", 200);
    }

    /** An option that is a number. */
    public Options number(String name, int absent) {
        return choice(name, Integer.toString(absent), "a number");
    }

    /** An option that is one of some words; the first where it is absent. */
    public Options word(String name, String... words) {
        return choice(name, words[0], String.join(" or ", words));
    }

    private Options choice(String name, String absent, String accepts) {
        accepted.put(name, accepts);
        values.put(name, absent);
        return this;
    }

    /** Reads the arguments. What is wrong is thrown with what is accepted. */
    void read(String[] arguments) {
        for (int i = 0; i < arguments.length; i += 2) {
            String name = arguments[i].startsWith("--") ? arguments[i].substring(2) : "";
            String accepts = accepted.get(name);
            if (accepts == null) {
                throw new IllegalArgumentException("found " + arguments[i] + ", accepted: " + accepted);
            }
            String value = i + 1 < arguments.length ? arguments[i + 1] : "nothing";
            boolean fits = accepts.equals("a number")
                    ? value.matches("[0-9]{1,9}") : (" or " + accepts + " or ").contains(" or " + value + " or ");
            if (!fits) {
                throw new IllegalArgumentException("--" + name + ": found " + value + ", accepted: " + accepts);
            }
            values.put(name, value);
        }
    }

    public int number(String name) {
        return Integer.parseInt(values.get(name));
    }

    public boolean is(String name, String word) {
        return values.get(name).equals(word);
    }
}
