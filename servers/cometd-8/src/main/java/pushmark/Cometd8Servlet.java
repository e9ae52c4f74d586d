package pushmark;

import java.io.IOException;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

import pushmark.contract.Contract;

/** Hands every request to the contract that is not Bayeux. */
final class Cometd8Servlet extends HttpServlet {
    private final transient Contract contract;

    Cometd8Servlet(Contract contract) {
        this.contract = contract;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            contract.handle(new Cometd8Exchange(request, response));
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
