import { Counter, Trend } from 'k6/metrics';

// What a message's stamp says: when it was due, µs of the host's monotonic clock.
// pm1:RRRRRR:PP:CCCC:SSSSSSS:DDDDDDDDDD:TTTTTTTTTT, base 36, at the end of the payload.
function dueUs(message) {
  return parseInt(message.substr(message.length - 21, 10), 36);
}

const FROM_US = Number(__ENV.FROM_US);
const UNTIL_US = Number(__ENV.UNTIL_US);
// REALTIME − MONOTONIC: a script has the wall clock alone.
const OFFSET_US = Number(__ENV.OFFSET_US);

// What is handled after this is late: it is not the work of the window.
const LATE_MS = (Number(__ENV.LATE_US) + OFFSET_US) / 1000;

const latency = new Trend('push_latency');
const late = new Counter('push_late');

export const TREND_STATS = ['count', 'p(50)', 'p(99)'];

function isMeasured(due) {
  return due >= FROM_US && due < UNTIL_US;
}

// Records the age of a message that was due in the window.
export function heard(message) {
  const due = dueUs(message);
  if (isMeasured(due)) {
    const now = Date.now();
    latency.add(now - (due + OFFSET_US) / 1000);
    if (now >= LATE_MS) {
      late.add(1);
    }
  }
}

// One line on stdout: what the script says it handled.
export function said(data) {
  const ages = data.metrics.push_latency ? data.metrics.push_latency.values : {};
  const afterwards = data.metrics.push_late ? data.metrics.push_late.values.count : 0;
  const said = { handled: ages.count || 0, late: afterwards, p50_ms: ages['p(50)'], p99_ms: ages['p(99)'] };
  return { stdout: JSON.stringify(said) + '\n' };
}
