package pushmark;

import java.io.IOException;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import pushmark.contract.Contract;

/** Hands every request to the contract. */
final class Tomcat11Servlet extends HttpServlet {
    private final transient Contract contract;
    private final boolean asynchronous;

    Tomcat11Servlet(Contract contract, boolean asynchronous) {
        this.contract = contract;
        this.asynchronous = asynchronous;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            contract.handle(new Tomcat11Exchange(request, response, contract, asynchronous));
        } catch (IOException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
