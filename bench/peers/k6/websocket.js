// One virtual user a socket: what a user of k6 would write.
import { WebSocket } from 'k6/websockets';
import { setTimeout } from 'k6/timers';
import { TREND_STATS, heard, said } from './stamp.js';

const n = Number(__ENV.N);
const closesIn = Number(__ENV.HOLD_MS);

export const options = {
  scenarios: { hold: { executor: 'per-vu-iterations', vus: n, iterations: 1, maxDuration: '1h' } },
  summaryTrendStats: TREND_STATS,
  // A name for each of 10,000 sockets is no metric.
  systemTags: [],
};

export default function () {
  const socket = new WebSocket(__ENV.URL);
  socket.onmessage = (event) => heard(event.data);
  socket.onopen = () => setTimeout(() => socket.close(), closesIn);
}

export const handleSummary = said;
