// A user of Artillery that hears pushes: the engine has no step for it, so a function reaches for its
// socket. What is emitted as a histogram Artillery gathers and reports.
const FROM_US = Number(process.env.FROM_US);
const UNTIL_US = Number(process.env.UNTIL_US);
// REALTIME − MONOTONIC.
const OFFSET_US = Number(process.env.OFFSET_US);
// What is handled after this is late: it is not the work of the window.
const LATE_MS = (Number(process.env.LATE_US) + OFFSET_US) / 1000;
const CLOSES_MS = Number(process.env.CLOSES_MS);

// A stamp ends the payload: pm1:RRRRRR:PP:CCCC:SSSSSSS:DDDDDDDDDD:TTTTTTTTTT, base 36; D is due.
function dueUs(message) {
  return parseInt(message.slice(-21, -11), 36);
}

export async function hear(context, events) {
  context.ws.on('message', (data) => {
    const due = dueUs(data.toString());
    if (due >= FROM_US && due < UNTIL_US) {
      const now = Date.now();
      events.emit('histogram', 'push_latency', now - (due + OFFSET_US) / 1000);
      if (now >= LATE_MS) {
        events.emit('counter', 'push_late', 1);
      }
    }
  });
  await new Promise((closed) => setTimeout(closed, CLOSES_MS - Date.now()));
}
