package pushmark.contract;

/** The two clocks of the contract, in µs. On Linux {@link System#nanoTime} reads CLOCK_MONOTONIC (CONTRACT 1.4). */
public final class Clock {
    private Clock() {}

    /** The instant now. */
    public static long us() {
        return System.nanoTime() / 1000;
    }

    /** The time of day, as µs since 1970. {@code Instant} is read, which is finer than milliseconds. */
    static long realtimeUs() {
        java.time.Instant now = java.time.Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1000;
    }
}
