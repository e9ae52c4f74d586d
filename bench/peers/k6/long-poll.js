// One virtual user a client, which asks again as soon as it is answered.
import http from 'k6/http';
import { TREND_STATS, heard, said } from './stamp.js';

const began = Date.now();
const until = began + Number(__ENV.HOLD_MS);

export const options = {
  scenarios: { hold: { executor: 'per-vu-iterations', vus: Number(__ENV.N), iterations: 1, maxDuration: '1h' } },
  summaryTrendStats: TREND_STATS,
  systemTags: [],
};

export default function () {
  let cursor = '';
  while (Date.now() < until) {
    const answer = http.get(`${__ENV.URL}&hold=2000&since=${cursor}`, { timeout: '60s' });
    cursor = answer.headers['Pushmark-Cursor'] || '';
    for (const line of (answer.body || '').split('\n')) {
      if (line.includes('pm1:')) {
        heard(line);
      }
    }
  }
}

export const handleSummary = said;
