'use strict'
// Two tickers of one market: what came, when it was shown, what was missed, and what it took.

/** Quotes kept of each ticker: of a minute's chart and the figures. */
const LOG_MAX = 20000

/** This page's clock on the server's (CONTRACT 2.2), µs: ours is in the middle of what all
 * exchanges allow, and wrong by half of that at most. */
const clock = {
  low: -Infinity,
  high: Infinity,
  exchanges: 0,
  grain_us: self.crossOriginIsolated ? 5 : 100,

  async exchange() {
    const before = performance.now() * 1e3
    const { monotonic_us } = await (await fetch(`/time?client=${Math.round(before)}`)).json()
    const after = performance.now() * 1e3
    const [low, high] = [monotonic_us - after - this.grain_us, monotonic_us + 1 - before + this.grain_us]
    const fits = low <= this.high && high >= this.low
    // Clocks that have drifted apart begin anew.
    this.low = fits ? Math.max(this.low, low) : low
    this.high = fits ? Math.min(this.high, high) : high
    this.exchanges += 1
  },

  get bound_us() {
    return (this.high - this.low) / 2 + this.grain_us
  },

  now() {
    return performance.now() * 1e3 + (this.low + this.high) / 2
  },
}

/** A time as people read it: three digits. */
function time(us) {
  const [value, unit] = Math.abs(us) < 999500 ? [us / 1e3, 'ms'] : [us / 1e6, 's']
  const digits = Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0
  return `${value.toFixed(digits).replace('-', '−')}\u00a0${unit}`
}

function bytes(count) {
  if (count < 1024) return `${count}\u00a0B`
  const [value, unit] = count < 1 << 20 ? [count / 1024, 'KiB'] : [count / (1 << 20), 'MiB']
  return `${value.toFixed(1)}\u00a0${unit}`
}

const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, '\u202f')

function median(sorted) {
  const half = sorted.length >> 1
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
}

/** What happens on the way, by transport. */
const ENDLESS = 'One request. Its answer never ends: each quote goes out on it when it is made.'
const HOW = {
  sse: ENDLESS,
  stream: ENDLESS,
  websocket: 'One connection, open both ways: each quote goes out on it when it is made.',
  'long-poll': 'A request waits at the server until there is a quote; answered, the page asks again at once.',
  poll: 'A request each time. The answer is the newest quote of each stock, news or not.',
}

class Ticker {
  constructor(id) {
    this.section = document.getElementById(id)
    this.section.append(document.getElementById('parts').content.cloneNode(true))
    this.rows = {}
    for (const { channel, name } of market.stocks) {
      const row = document.createElement('tr')
      row.innerHTML = '<td></td><td class="number price">–</td><td class="number change">–</td><td class="number n">–</td>'
      row.cells[0].innerHTML = `${channel}<small>${name}</small>`
      this.rows[channel] = row
      this.section.querySelector('tbody').append(row)
    }
    this.end = () => {}
  }

  /** Begins anew over a transport; an interval is a poller's. */
  begin(transport, intervalMs) {
    this.end()
    Object.assign(this, { transport, intervalMs, last: {}, log: [], polls: [] })
    Object.assign(this, { shown: 0, missed: 0, requests: 0, redundant: 0, bytes: 0 })
    this.section.querySelector('.how').textContent = HOW[transport]
    let asked = 0
    const on = {
      asked: () => {
        this.requests += 1
        asked = clock.now()
      },
      came: (lines, size) => this.came(lines, size, asked),
    }
    this.end = hear[transport](market.stocks.map(({ channel }) => channel).join(), on, intervalMs)
    this.draw()
  }

  came(lines, size, asked_us) {
    this.bytes += size
    let news = 0
    for (const line of lines) {
      const quote = line && JSON.parse(line)
      if (quote?.stock in this.rows && this.quoted(quote)) news += 1
    }
    if (!news) this.redundant += 1
    if (this.transport === 'poll') this.polls.push({ asked_us, came_us: clock.now() })
    this.figures()
  }

  /** Shows a quote; says whether it was new. */
  quoted({ stock, n, price, created_us, every_us }) {
    const last = this.last[stock]
    if (last && n <= last.n) return false
    this.show(this.rows[stock], price, last?.price, n)
    this.last[stock] = { n, price }
    if (!last) return true // it was there before we asked
    const shown_us = clock.now()
    for (let k = last.n + 1; k <= n; k++) {
      const made_us = created_us - (n - k) * every_us
      this.log.push({ stock, n: k, price, created_us: made_us, shown_us, delay_us: shown_us - made_us, overtaken: k < n })
    }
    this.shown += 1
    this.missed += n - last.n - 1
    if (this.log.length > LOG_MAX) this.log.splice(0, this.log.length - LOG_MAX)
    return true
  }

  show(row, price, before, n) {
    const change = before === undefined ? 0 : price - before
    row.cells[1].textContent = price.toFixed(2)
    row.cells[2].textContent = change === 0 ? '–' : `${change > 0 ? '↑ +' : '↓ −'}${Math.abs(change).toFixed(2)}`
    row.cells[3].textContent = grouped(n)
    if (change === 0) return
    row.classList.remove('up', 'down')
    void row.offsetWidth // so that the effect begins again
    row.classList.add(change > 0 ? 'up' : 'down')
  }

  says() {
    if (!this.log.length) return 'Waiting for the first quotes.'
    const all = this.shown + this.missed
    const half = `half of all quotes were here within ${time(this.middle)}`
    if (!this.missed) return `None of ${grouped(all)} quotes missed; ${half}.`
    return `${grouped(this.missed)} of ${grouped(all)} quotes were never shown; ${half}.`
  }

  figures() {
    const delays = this.log.map(({ delay_us }) => delay_us).sort((a, b) => a - b)
    const known = delays.length > 0
    this.middle = known ? median(delays) : 0
    const put = (name, value, text) => {
      const data = this.section.querySelector(`data.${name}`)
      data.value = value
      data.textContent = text
    }
    const putTime = (name, us) => (known ? put(name, us, time(us)) : put(name, '', '–'))
    putTime('median', this.middle)
    putTime('mean', delays.reduce((sum, us) => sum + us, 0) / delays.length)
    putTime('longest', delays[delays.length - 1])
    for (const name of ['shown', 'missed', 'requests', 'redundant']) put(name, this[name], grouped(this[name]))
    put('bytes', this.bytes, bytes(this.bytes))
    this.section.querySelector('.says').textContent = this.says()
  }

  draw() {
    this.figures()
    const limitUs = this.intervalMs ? this.intervalMs * 1e3 : 0
    const { log, transport } = this
    drawChart(this.section.querySelector('svg'), { log, nowUs: clock.now(), transport, limitUs, says: this.says() })
  }
}

/** What is shown, for whoever looks at the page from outside. */
const ticker = {}

function beginPush() {
  const over = document.getElementById('over')
  over.value = new URLSearchParams(location.search).get('push') ?? 'sse'
  if (!over.value) over.value = 'sse'
  ticker.push = new Ticker('push')
  const begin = () => ticker.push.begin(over.value)
  over.onchange = begin
  begin()
}

function beginPull() {
  const slider = document.getElementById('interval')
  const shown = document.getElementById('interval-shown')
  slider.value = market.pull_ms / 1e3
  ticker.pull = new Ticker('pull')
  const say = () => (shown.textContent = `${Number(slider.value).toFixed(1)}\u00a0s`)
  const begin = () => ticker.pull.begin('poll', slider.value * 1e3)
  slider.oninput = say
  slider.onchange = begin
  say()
  begin()
}

function sayClock() {
  document.getElementById('clock').textContent =
    `This page's clock was set to the server's by ${grouped(clock.exchanges)} exchanges; ` +
    `its instants are right within ±\u00a0${time(clock.bound_us)}.`
}

async function begin() {
  const page = location.pathname.slice(1)
  document.body.className = page
  document.getElementById('every').textContent = `every ${time(market.every_us)}`
  for (let n = 0; n < 20; n++) await clock.exchange()
  sayClock()
  if (page !== 'pull') beginPush()
  if (page !== 'push') beginPull()
  setInterval(() => Object.values(ticker).forEach((one) => one.draw()), 250)
  setInterval(() => clock.exchange().then(sayClock, () => {}), 5000)
}

begin()
