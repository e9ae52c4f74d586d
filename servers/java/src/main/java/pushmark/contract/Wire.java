package pushmark.contract;

/** Where a subscriber's output goes: what a server makes of its API's held response. */
public interface Wire {
    /**
     * Whether a write may be begun. Where it says no, it must see to it that {@link Subscriber#drain} is called
     * once it may. An API that blocks always says yes.
     */
    boolean ready();

    /** Writes and flushes; ends the response where the output is the last. Never called by two threads at once. */
    void write(Output output) throws Exception;

    /** Something waits. A server whose own threads must do the writing wakes one, which then drains. */
    default void wake(Subscriber subscriber) {
        subscriber.drain();
    }
}
