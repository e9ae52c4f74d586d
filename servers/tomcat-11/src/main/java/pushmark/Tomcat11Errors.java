package pushmark;

import java.io.IOException;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import pushmark.contract.Json;

/** What Tomcat itself refuses is answered with a document too (CONTRACT 2.0). */
public final class Tomcat11Errors extends ErrorReportValve {
    @Override
    protected void report(Request request, Response response, Throwable thrown) {
        if (response.getStatus() < 400 || response.isCommitted()) {
            return;
        }
        String why = thrown != null ? thrown.toString() : "Tomcat refuses it: " + response.getMessage();
        try {
            response.setContentType("application/json");
            response.getReporter().write(Json.write(Json.object("error", why)));
        } catch (IOException e) {
            // The client has gone: there is nobody to tell.
            return;
        }
    }
}
