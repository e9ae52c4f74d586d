// One virtual user a socket: what a user of k6 would write.
import { WebSocket } from 'k6/websockets';
import { Counter, Trend } from 'k6/metrics';
import { setTimeout } from 'k6/timers';
import { ageMs, dueUs, isMeasured, said } from './stamp.js';

const latency = new Trend('push_latency');
const handled = new Counter('push_handled');
const n = Number(__ENV.N);
const closesIn = Number(__ENV.HOLD_MS);

export const options = {
  scenarios: { hold: { executor: 'per-vu-iterations', vus: n, iterations: 1, maxDuration: '1h' } },
  summaryTrendStats: ['p(50)', 'p(99)'],
  // A name for each of 10,000 sockets is no metric.
  systemTags: [],
};

export default function () {
  const socket = new WebSocket(__ENV.URL);
  socket.onmessage = (event) => {
    const due = dueUs(event.data);
    if (isMeasured(due)) {
      handled.add(1);
      latency.add(ageMs(due));
    }
  };
  socket.onopen = () => setTimeout(() => socket.close(), closesIn);
}

export const handleSummary = said;
