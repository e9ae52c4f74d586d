package pushmark;

import java.io.IOException;

import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

import pushmark.contract.Contract;

/** Hands every request to the contract that is not Bayeux. */
final class CometdJetty6Servlet extends HttpServlet {
    private final transient Contract contract;

    CometdJetty6Servlet(Contract contract) {
        this.contract = contract;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            contract.handle(new CometdJetty6Exchange(request, response));
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
