package pushmark;

import java.io.IOException;
import java.nio.channels.SelectionKey;
import java.nio.channels.SocketChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

import org.mortbay.io.nio.SelectChannelEndPoint;
import org.mortbay.io.nio.SelectorManager;
import org.mortbay.jetty.nio.SelectChannelConnector;

/** A connector that knows how many connections are open: its own count goes astray where requests are suspended. */
final class CountingConnector extends SelectChannelConnector {
    private final AtomicLong open = new AtomicLong();

    @Override
    protected SelectChannelEndPoint newEndPoint(SocketChannel channel, SelectorManager.SelectSet set, SelectionKey key)
            throws IOException {
        open.incrementAndGet();
        return new ConnectorEndPoint(channel, set, key) {
            private final AtomicBoolean closed = new AtomicBoolean();

            @Override
            public void close() throws IOException {
                if (closed.compareAndSet(false, true)) {
                    open.decrementAndGet();
                }
                super.close();
            }
        };
    }

    long connections() {
        return open.get();
    }
}
