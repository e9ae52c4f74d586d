package pushmark;

import java.io.IOException;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import pushmark.contract.Contract;

/** Hands every request to the contract. */
final class Tomcat7Servlet extends HttpServlet {
    private final transient Contract contract;
    private final boolean asynchronous;

    Tomcat7Servlet(Contract contract, boolean asynchronous) {
        this.contract = contract;
        this.asynchronous = asynchronous;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        try {
            contract.handle(new Tomcat7Exchange(request, response, asynchronous));
        } catch (IOException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
