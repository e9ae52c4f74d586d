package pushmark;

/** Begins in a thread of its own: to load a server's classes takes more stack than the least that JVMs accept. */
public final class Start {
    private static final long STACK_BYTES = 1 << 20;

    private Start() {}

    public static void main(String[] arguments) {
        new Thread(null, () -> {
            try {
                Jetty6.main(arguments);
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        }, "start", STACK_BYTES).start();
    }
}
