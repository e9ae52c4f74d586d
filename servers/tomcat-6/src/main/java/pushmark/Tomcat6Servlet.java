package pushmark;

import java.io.IOException;
import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import pushmark.contract.Contract;

/** Hands every request to the contract. Tomcat 6 makes its servlets itself, so what they need is static. */
public class Tomcat6Servlet extends HttpServlet {
    protected static Contract contract;
    /** Who ends a response: the thread that wrote its last bytes, or the container's own once the client has gone. */
    protected static boolean closeAtOnce;

    static void serve(Contract contract, boolean closeAtOnce) {
        Tomcat6Servlet.contract = contract;
        Tomcat6Servlet.closeAtOnce = closeAtOnce;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        handle(new Tomcat6Exchange(request, response));
    }

    static void handle(Tomcat6Exchange exchange) throws ServletException, IOException {
        try {
            contract.handle(exchange);
        } catch (IOException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
