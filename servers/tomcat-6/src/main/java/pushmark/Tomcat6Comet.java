package pushmark;

import java.io.IOException;
import java.io.InputStream;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServletRequest;
import org.apache.catalina.CometEvent;
import org.apache.catalina.CometProcessor;

/** Requests that may be held. On the NIO connector they come as comet events, on the blocking one to service(). */
public final class Tomcat6Comet extends Tomcat6Servlet implements CometProcessor {
    private static final String EXCHANGE = Tomcat6Exchange.class.getName();

    @Override
    public void event(CometEvent event) throws IOException, ServletException {
        HttpServletRequest request = event.getHttpServletRequest();
        Tomcat6Exchange exchange = (Tomcat6Exchange) request.getAttribute(EXCHANGE);
        switch (event.getEventType()) {
            case BEGIN:
                exchange = new Tomcat6Exchange(event, contract.stats(), closeAtOnce);
                request.setAttribute(EXCHANGE, exchange);
                handle(exchange);
                break;
            case READ:
                discard(request.getInputStream());
                break;
            case ERROR:
                if (event.getEventSubType() == CometEvent.EventSubType.TIMEOUT) {
                    exchange.timeUp();
                } else {
                    exchange.lost();
                }
                break;
            case END:
            default:
                exchange.lost();
        }
    }

    private static void discard(InputStream in) throws IOException {
        byte[] buffer = new byte[512];
        while (in.available() > 0 && in.read(buffer) > 0) {
            // nothing is expected here
        }
    }
}
