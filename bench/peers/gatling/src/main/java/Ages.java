import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/** Ages of the messages that were due in the window, in steps of a millisecond, as the clock of Gatling has them. */
final class Ages {
  private static final long FROM_US = Long.parseLong(System.getenv("FROM_US"));
  private static final long UNTIL_US = Long.parseLong(System.getenv("UNTIL_US"));
  /** REALTIME − MONOTONIC. */
  private static final long OFFSET_US = Long.parseLong(System.getenv("OFFSET_US"));
  /** What is received after this is late: it is not the work of the window. */
  private static final long LATE_MS = (Long.parseLong(System.getenv("LATE_US")) + OFFSET_US) / 1_000;
  /** From the start of a stamp to its due instant: pm1:RRRRRR:PP:CCCC:SSSSSSS: */
  private static final int BEFORE_DUE = 27;

  private final AtomicLongArray counts = new AtomicLongArray(60_000);
  private final AtomicLong late = new AtomicLong();

  void heard(String message, long receivedMs) {
    int stamp = message.lastIndexOf("pm1:");
    if (stamp < 0) {
      return;
    }
    int due = stamp + BEFORE_DUE;
    long dueUs = Long.parseLong(message, due, due + 10, 36);
    if (dueUs >= FROM_US && dueUs < UNTIL_US) {
      long ageMs = receivedMs - (dueUs + OFFSET_US) / 1_000;
      counts.incrementAndGet((int) Math.max(0, Math.min(ageMs, counts.length() - 1)));
      if (receivedMs >= LATE_MS) {
        late.incrementAndGet();
      }
    }
  }

  /** The line that the harness reads. */
  String said() {
    long all = 0;
    for (int ms = 0; ms < counts.length(); ms++) {
      all += counts.get(ms);
    }
    if (all == 0) {
      return "{\"handled\": 0, \"late\": 0}";
    }
    return String.format(
        "{\"handled\": %d, \"late\": %d, \"p50_ms\": %d, \"p99_ms\": %d}",
        all, late.get(), at(0.5, all), at(0.99, all));
  }

  private int at(double share, long all) {
    long below = 0;
    for (int ms = 0; ms < counts.length(); ms++) {
      below += counts.get(ms);
      if (below >= share * all) {
        return ms;
      }
    }
    return counts.length() - 1;
  }
}
