package pushmark;

import java.io.IOException;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;

import pushmark.contract.Answer;
import pushmark.contract.Exchange;
import pushmark.contract.Refusal;
import pushmark.contract.Subscriber;

/** A request that is answered at once: who wishes to be held speaks Bayeux. */
final class Cometd8Exchange extends Exchange {
    private final HttpServletRequest request;
    private final HttpServletResponse response;

    Cometd8Exchange(HttpServletRequest request, HttpServletResponse response) {
        this.request = request;
        this.response = response;
    }

    @Override
    public String method() {
        return request.getMethod();
    }

    @Override
    public String path() {
        return request.getRequestURI();
    }

    @Override
    public String query() {
        return request.getQueryString();
    }

    @Override
    public String header(String name) {
        return request.getHeader(name);
    }

    @Override
    public boolean isHttp11() {
        return "HTTP/1.1".equals(request.getProtocol());
    }

    @Override
    public byte[] body(int max) throws IOException {
        return read(request.getInputStream(), max);
    }

    @Override
    public void answer(Answer answer) throws IOException {
        response.setStatus(answer.status);
        for (int i = 0; i < answer.headers.length; i += 2) {
            response.setHeader(answer.headers[i], answer.headers[i + 1]);
        }
        if (answer.status != HttpServletResponse.SC_NOT_MODIFIED) {
            response.setContentType(answer.type);
            response.setContentLength(answer.body.length);
        }
        response.getOutputStream().write(answer.body);
        response.flushBuffer();
    }

    @Override
    public void hold(Subscriber subscriber) throws Refusal {
        throw new Refusal(404, "this server pushes over Bayeux alone: /cometd");
    }
}
