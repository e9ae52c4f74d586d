'use strict'
// One browser client of the crowd. The desk (this page's own server) says where to subscribe; the
// page finds the stamps in what it hears, notes when, and tells the desk.

const STAMP = /pm1:[0-9a-z]{6}:[0-9a-z]{2}:[0-9a-z]{4}:[0-9a-z]{7}:[0-9a-z]{10}:[0-9a-z]{10}/g
/** Stands in a URL where the cursor goes. */
const CURSOR = '__cursor__'
/** Between two tellings, ms. */
const TELL_MS = 100
/** Between two timers of the event loop's own probe, ms. */
const LAG_MS = 25
/** Between two requests to the desk, ms. */
const REQUEST_MS = 250

/** A known error of this page's clock, for a test: in what it heard, not in the exchanges. */
const planted = Number(new URLSearchParams(location.search).get('planted_ms') ?? 0)

const desk = new WebSocket(`ws://${location.host}/desk`)
const tell = (what) => desk.readyState === WebSocket.OPEN && desk.send(JSON.stringify(what))
const trouble = (text) => tell({ trouble: String(text) })

let heard = []
let lags = []
let open = false

function opened() {
  if (!open) tell({ open: true })
  open = true
}

/** Notes the stamps of a message that was whole at `at`; one stamp counts once. */
function note(at, text) {
  for (const stamp of new Set(text.match(STAMP))) heard.push([stamp, at + planted])
}

function tellHeard() {
  if (heard.length || lags.length) tell({ heard, lags })
  heard = []
  lags = []
}

/** How late the event loop runs a timer. */
function watchLoop() {
  const due = performance.now() + LAG_MS
  setTimeout(() => {
    lags.push(performance.now() - due)
    watchLoop()
  }, LAG_MS)
}

/** The least step of the clock, ms: the least that is seen in 30 ms. */
function grain() {
  let least = Infinity
  const from = performance.now()
  for (let last = from; last - from < 30; ) {
    const now = performance.now()
    if (now > last) least = Math.min(least, now - last)
    last = now
  }
  return least
}

/** What a request of a page costs by itself: one to the desk, which answers at once. */
async function watchRequests() {
  const from = performance.now()
  await (await fetch('/probe.js', { cache: 'no-store' })).text()
  tell({ fetched: performance.now() - from })
  setTimeout(watchRequests, REQUEST_MS)
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** The value at a JSON pointer (RFC 6901). */
function at(pointer, text) {
  const unescape = (part) => part.replaceAll('~1', '/').replaceAll('~0', '~')
  return pointer.split('/').slice(1).reduce((value, part) => value?.[unescape(part)], JSON.parse(text))
}

const hear = {
  sse(ask) {
    const source = new EventSource(ask.url, { withCredentials: ask.cookies })
    source.onopen = () => ask.ready || opened()
    source.onerror = () => trouble('the event stream broke')
    source.onmessage = ({ data }) => {
      const now = performance.now()
      note(now, data)
      if (ask.ready && data.includes(ask.ready)) opened()
    }
  },

  websocket(ask) {
    const socket = new WebSocket(ask.url, ask.subprotocols)
    socket.binaryType = 'arraybuffer'
    const bytes = new TextDecoder('latin1')
    socket.onopen = () => {
      for (const text of ask.after_open) socket.send(text)
      for (const { after_ms, send } of ask.every) setInterval(() => socket.send(send), after_ms)
      if (!ask.ready) opened()
    }
    socket.onclose = ({ code }) => trouble(`the WebSocket closed with ${code}`)
    socket.onmessage = ({ data }) => {
      const now = performance.now()
      const text = typeof data === 'string' ? data : bytes.decode(data)
      note(now, text)
      if (ask.ready && text.includes(ask.ready)) opened()
      for (const { on, send } of ask.answer) if (on === text) socket.send(send)
    }
  },

  async stream(ask) {
    const answer = await get(ask, ask.url)
    if (!ask.ready) opened()
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = ''; ; ) {
      const { value, done } = await reader.read()
      const now = performance.now()
      if (done) throw new Error('the stream ended')
      note(now, rest + value)
      if (ask.ready && (rest + value).includes(ask.ready)) opened()
      rest = (rest + value).slice(-47) // less than a stamp
    }
  },

  async 'long-poll'(ask) {
    for (let cursor = ''; ; ) {
      const asked = get(ask, ask.url.replace(CURSOR, encodeURIComponent(cursor)))
      if (!ask.cursor) opened()
      const answer = await asked
      cursor = await take(ask, answer, cursor)
      opened()
    }
  },

  async poll(ask) {
    const { interval_ms, phase_ms, after_answer, conditional } = ask.poll
    let due = performance.now() + phase_ms
    let etag = null
    for (let cursor = ''; ; ) {
      await pause(Math.max(0, due - performance.now()))
      const headers = conditional && etag ? { 'if-none-match': etag } : {}
      const answer = await get(ask, ask.url.replace(CURSOR, encodeURIComponent(cursor)), headers)
      etag = answer.headers.get('etag')
      cursor = await take(ask, answer, cursor)
      opened()
      // Of a grid the next instant that is still to come.
      const late = performance.now() - due
      due += after_answer ? late + interval_ms : interval_ms * Math.max(1, Math.ceil(late / interval_ms))
    }
  },

  async bayeux(ask) {
    await bayeux(ask, async (messages) => {
      const answer = await get(ask, ask.url, { 'content-type': 'application/json' }, JSON.stringify(messages))
      const text = await answer.text()
      note(performance.now(), text)
      return JSON.parse(text)
    }, 'long-polling')
  },

  async 'bayeux-websocket'(ask) {
    const socket = new WebSocket(ask.url)
    const waiting = new Map()
    socket.onmessage = ({ data }) => {
      const now = performance.now()
      note(now, data)
      for (const reply of JSON.parse(data)) waiting.get(reply.id)?.([reply])
    }
    socket.onclose = ({ code }) => trouble(`the WebSocket closed with ${code}`)
    await new Promise((resolve) => (socket.onopen = resolve))
    await bayeux(ask, (messages) => {
      socket.send(JSON.stringify(messages))
      return new Promise((resolve) => waiting.set(messages[0].id, resolve))
    }, 'websocket')
  },
}

/** A Bayeux session (Bayeux 1.0, 3 and 4): handshake, connect, subscribe, one connect after another. */
async function bayeux(ask, exchange, connectionType) {
  let number = 0
  let clientId
  const say = async (channel, more) => {
    const id = String(++number)
    const replies = await exchange([{ channel, id, clientId, ...more }])
    const reply = replies.find((one) => one.channel === channel)
    if (!reply?.successful) throw new Error(`${channel}: ${reply?.error ?? 'no reply'}`)
    return reply
  }
  const types = { version: '1.0', minimumVersion: '1.0', supportedConnectionTypes: [connectionType] }
  clientId = (await say('/meta/handshake', types)).clientId
  await say('/meta/connect', { connectionType, advice: { timeout: 0 } })
  await say('/meta/subscribe', { subscription: ask.channels })
  opened()
  for (;;) {
    const { advice } = await say('/meta/connect', { connectionType })
    if (advice?.interval > 0) await pause(advice.interval)
  }
}

async function get(ask, url, headers = {}, body) {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...ask.headers, ...headers },
    credentials: ask.cookies ? 'include' : 'omit',
    cache: 'no-store',
    body,
  })
  if (!answer.ok && answer.status !== 304) throw new Error(`${url} answers ${answer.status}`)
  return answer
}

/** Notes what an answer holds; gives the cursor after it. */
async function take(ask, answer, cursor) {
  const text = await answer.text()
  note(performance.now(), text)
  if (!ask.cursor) return cursor
  const { header, json } = ask.cursor
  return (header ? answer.headers.get(header) : at(json, text)) ?? cursor
}

desk.onopen = () => {
  tell({ agent: navigator.userAgent, grain_ms: grain() })
  setInterval(tellHeard, TELL_MS)
}
desk.onmessage = async ({ data }) => {
  const now = performance.now()
  const asked = JSON.parse(data)
  if (asked.exchange !== undefined) return tell({ exchange: asked.exchange, now })
  if (asked.finish) {
    tellHeard()
    return tell({ finished: true })
  }
  watchLoop()
  if (asked.requests) watchRequests()
  // What ends a conversation is told, and it is begun again, as a page would.
  for (;;) {
    try {
      await hear[asked.transport](asked)
      return
    } catch (error) {
      trouble(error)
      await pause(200)
    }
  }
}
