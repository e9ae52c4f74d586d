"""A user of Locust that hears pushes, over a WebSocket or over Server-Sent Events.

Locust has no push of its own: what arrives is fired as a request, with its age for a response time.
"""

import json
import os
import time

import gevent
import websocket
from geventhttpclient import HTTPClient
from geventhttpclient.url import URL
from locust import User, events, task

ADDRESS = os.environ["URL"]
FROM_US = int(os.environ["FROM_US"])
UNTIL_US = int(os.environ["UNTIL_US"])
OFFSET_US = int(os.environ["OFFSET_US"])
LATE_MS = (int(os.environ["LATE_US"]) + OFFSET_US) / 1e3
OVER = time.time() + int(os.environ["HOLD_MS"]) / 1e3


late = 0


def heard(message):
    """Counts a message by its stamp: the due instant stands 21 characters before its end."""
    global late
    due = int(message[-21:-11], 36)
    if FROM_US <= due < UNTIL_US:
        now_ms = time.time() * 1e3
        late += now_ms >= LATE_MS
        age_ms = now_ms - (due + OFFSET_US) / 1e3
        events.request.fire(
            request_type="push", name="push", response_time=age_ms, response_length=len(message), exception=None
        )


class Subscriber(User):
    @task
    def hold(self):
        if ADDRESS.startswith("ws"):
            self.websocket()
        else:
            self.events()

    def websocket(self):
        socket = websocket.create_connection(ADDRESS)
        while True:
            heard(socket.recv())

    def events(self):
        url = URL(ADDRESS)
        client = HTTPClient.from_url(url, concurrency=1, network_timeout=3600)
        stream = client.get(url.request_uri)
        while True:
            line = stream.readline(b"\n").decode().rstrip()
            if line.startswith("data:"):
                heard(line)


@events.test_start.add_listener
def begin(environment, **_):
    # A user that waits for the next message would never see that it is over.
    gevent.spawn_later(max(0, OVER - time.time()), environment.runner.quit)


@events.quitting.add_listener
def said(environment, **_):
    entry = environment.stats.get("push", "push")
    of = lambda p: entry.get_response_time_percentile(p) if entry.num_requests else None
    print(json.dumps({"handled": entry.num_requests, "late": late, "p50_ms": of(0.5), "p99_ms": of(0.99)}), flush=True)
