package pushmark;

import java.io.IOException;

import javax.servlet.ServletException;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

import pushmark.contract.Contract;

/** Hands every request to the contract. One that was suspended comes here again, from the top, and goes on. */
final class Jetty6Servlet extends HttpServlet {
    private final transient Contract contract;

    Jetty6Servlet(Contract contract) {
        this.contract = contract;
    }

    @Override
    protected void service(HttpServletRequest request, HttpServletResponse response)
            throws ServletException, IOException {
        Jetty6Exchange exchange = (Jetty6Exchange) request.getAttribute(Jetty6Exchange.HELD);
        if (exchange == null) {
            exchange = new Jetty6Exchange(request, response);
            handle(exchange);
        }
        exchange.serve();
    }

    private void handle(Jetty6Exchange exchange) throws ServletException, IOException {
        try {
            contract.handle(exchange);
        } catch (IOException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new ServletException(e);
        }
    }
}
