// What a message's stamp says: when it was due, µs of the host's monotonic clock.
// pm1:RRRRRR:PP:CCCC:SSSSSSS:DDDDDDDDDD:TTTTTTTTTT, base 36, at the end of the payload.
export function dueUs(message) {
  return parseInt(message.substr(message.length - 21, 10), 36);
}

export const FROM_US = Number(__ENV.FROM_US);
export const UNTIL_US = Number(__ENV.UNTIL_US);
// REALTIME − MONOTONIC: a script has the wall clock alone.
export const OFFSET_US = Number(__ENV.OFFSET_US);

export function isMeasured(due) {
  return due >= FROM_US && due < UNTIL_US;
}

export function ageMs(due) {
  return Date.now() - (due + OFFSET_US) / 1000;
}

// One line on stdout: what the script says it handled.
export function said(data) {
  const ages = data.metrics.push_latency ? data.metrics.push_latency.values : {};
  const count = data.metrics.push_handled ? data.metrics.push_handled.values.count : 0;
  return { stdout: JSON.stringify({ handled: count, p50_ms: ages['p(50)'], p99_ms: ages['p(99)'] }) + '\n' };
}
