'use strict'
// Ways to hear the market. Each takes the channels and what to call: `asked` when a request goes
// out, `came` with the lines of an answer and its bytes. Each gives a function that ends it.

/** Longest a long poll is held, ms. */
const HOLD_MS = 20000

const size = (text) => new Blob([text]).size
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Runs until it is ended; what breaks is begun again after a second. */
function loop(turn) {
  const control = new AbortController()
  const run = async () => {
    while (!control.signal.aborted) {
      try {
        await turn(control.signal)
      } catch {
        if (!control.signal.aborted) await pause(1000)
      }
    }
  }
  run()
  return () => control.abort()
}

const hear = {
  sse(channels, { asked, came }) {
    const source = new EventSource(`/sse?channel=${channels}`)
    asked()
    source.onmessage = ({ data }) => came([data], size(data))
    return () => source.close()
  },

  websocket(channels, { asked, came }) {
    const socket = new WebSocket(`ws://${location.host}/ws?channel=${channels}`)
    asked()
    socket.onmessage = ({ data }) => came([data], size(data))
    return () => socket.close()
  },

  'long-poll'(channels, { asked, came }) {
    let cursor = ''
    return loop(async (signal) => {
      asked()
      const answer = await fetch(`/long-poll?channel=${channels}&hold=${HOLD_MS}&since=${cursor}`, { signal })
      const first = cursor === ''
      cursor = answer.headers.get('pushmark-cursor') ?? ''
      const text = await answer.text()
      // The first only says where to begin.
      if (!first) came(text.split('\n'), size(text))
    })
  },

  stream(channels, { asked, came }) {
    return loop(async (signal) => {
      asked()
      const answer = await fetch(`/stream?channel=${channels}`, { signal })
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
      for (let rest = ''; ; ) {
        const { value, done } = await reader.read()
        if (done) throw new Error('the stream ended')
        const lines = (rest + value).split('\n')
        rest = lines.pop()
        if (lines.length) came(lines, size(value))
      }
    })
  },

  /** Polls are due on a grid: a slow answer delays no other. */
  poll(channels, { asked, came }, intervalMs) {
    let due = performance.now()
    return loop(async (signal) => {
      asked()
      const answer = await fetch(`/poll?channel=${channels}`, { signal })
      const text = await answer.text()
      if (signal.aborted) return
      came(text.split('\n'), size(text))
      const late = performance.now() - due
      due += intervalMs * Math.max(1, Math.ceil(late / intervalMs))
      await pause(due - performance.now())
    })
  },
}
