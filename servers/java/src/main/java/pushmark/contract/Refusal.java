package pushmark.contract;

/** A request that is not granted: its status, and a sentence that says why (CONTRACT 2). */
public final class Refusal extends Exception {
    final int status;

    public Refusal(int status, String why) {
        super(why, null, false, false);
        this.status = status;
    }

    /** A value outside what is accepted. */
    static Refusal range(String key, Object found, long low, long high) {
        return new Refusal(400, key + ": found " + found + ", accepted: " + low + " to " + high);
    }
}
