package pushmark;

import java.io.IOException;
import java.util.List;

import javax.servlet.http.HttpServletRequest;

import dojox.cometd.Message;
import org.mortbay.cometd.AbstractBayeux;
import org.mortbay.cometd.ClientImpl;
import org.mortbay.cometd.continuation.ContinuationBayeux;
import org.mortbay.cometd.continuation.ContinuationClient;
import org.mortbay.cometd.continuation.ContinuationCometdServlet;
import org.mortbay.jetty.HttpException;

import pushmark.contract.Contract;

/** Jetty's servlet for Bayeux, as it is but for two things: what goes out is counted, what is no JSON is refused. */
final class CometdJetty6Bayeux extends ContinuationCometdServlet {
    private final transient Contract contract;

    CometdJetty6Bayeux(Contract contract) {
        this.contract = contract;
    }

    @Override
    protected AbstractBayeux newBayeux() {
        return new ContinuationBayeux() {
            @Override
            public ClientImpl newRemoteClient() {
                return new Counted(this, contract);
            }
        };
    }

    /** CONTRACT 6.7: 400 for what is no message; left alone it would be 500, with a stack trace. */
    @Override
    protected Message[] getMessages(HttpServletRequest request) throws IOException {
        Message[] messages;
        try {
            messages = super.getMessages(request);
        } catch (RuntimeException | Error e) {
            messages = new Message[0];
        }
        for (Message message : messages) {
            if (message.getChannel() == null) {
                messages = new Message[0];
                break;
            }
        }
        if (messages.length == 0) {
            throw new HttpException(400, "a Bayeux message, or an array of them, is needed");
        }
        return messages;
    }

    /** A client whose messages are counted as they are taken to be written. */
    private static final class Counted extends ContinuationClient {
        private final Contract contract;

        Counted(ContinuationBayeux bayeux, Contract contract) {
            super(bayeux);
            this.contract = contract;
        }

        @Override
        public List<Message> takeMessages() {
            List<Message> messages = super.takeMessages();
            int taken = messages == null ? 0 : messages.size();
            contract.stats().add("deliveries", taken);
            contract.stats().queueReached(taken);
            return messages;
        }
    }
}
