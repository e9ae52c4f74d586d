'use strict'
// The delays of the last minute as marks: time to the right, delay upwards, log, the same scale on
// both pages.

const SPAN_US = 60e6
const [LOW_US, HIGH_US] = [100, 60e6]
const TICKS = [[1e3, '1 ms'], [1e4, '10 ms'], [1e5, '100 ms'], [1e6, '1 s'], [1e7, '10 s']]
const HEIGHT = 190
const [LEFT, RIGHT, TOP, BOTTOM] = [52, 8, 10, 24]

/** A mark around (0, 0), by transport: as in the report. */
const MARKS = {
  poll: 'm-3-3h6v6h-6z',
  'long-poll': 'm0-4l4 4l-4 4l-4-4z',
  stream: 'm0-4l4 7h-8z',
  sse: 'm-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z',
  websocket: 'm0 4l-4-7h8z',
}
const COLOURS = { poll: 'poll', 'long-poll': 'lp', stream: 'strm', sse: 'sse', websocket: 'ws' }

/** Draws `log` as of `nowUs`; `limitUs`: a line at that delay, or none. */
function drawChart(svg, { log, nowUs, transport, limitUs, says }) {
  const width = Math.max(280, svg.clientWidth || 280)
  const x = (us) => LEFT + (1 - (nowUs - us) / SPAN_US) * (width - LEFT - RIGHT)
  const share = (us) => Math.log(Math.min(HIGH_US, Math.max(LOW_US, us)) / LOW_US) / Math.log(HIGH_US / LOW_US)
  const y = (us) => HEIGHT - BOTTOM - share(us) * (HEIGHT - TOP - BOTTOM)
  const line = (us, kind) => `<path class="${kind}" d="M${LEFT} ${y(us).toFixed(1)}H${width - RIGHT}"/>`
  const parts = TICKS.map(([us, name]) =>
    `${line(us, 'gridline')}<text x="${LEFT - 6}" y="${(y(us) + 4).toFixed(1)}" text-anchor="end">${name}</text>`)
  parts.push(line(LOW_US, 'base'))
  parts.push(`<text x="${LEFT}" y="${HEIGHT - 6}">a minute ago</text>`)
  parts.push(`<text x="${width - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">now</text>`)
  if (limitUs) {
    parts.push(line(limitUs, 'limit'))
    parts.push(`<text x="${width - RIGHT}" y="${(y(limitUs) - 5).toFixed(1)}" text-anchor="end">the interval</text>`)
  }
  const paths = { shown: '', overtaken: '' }
  for (const { shown_us, delay_us, overtaken } of log) {
    if (nowUs - shown_us > SPAN_US) continue
    const at = `M${x(shown_us).toFixed(1)} ${y(delay_us).toFixed(1)}`
    if (overtaken) paths.overtaken += `${at}m-2-2l4 4m0-4l-4 4`
    else paths.shown += at + MARKS[transport]
  }
  parts.push(`<path class="overtaken" d="${paths.overtaken}"/>`)
  parts.push(`<path class="mark" style="--mark: var(--${COLOURS[transport]})" d="${paths.shown}"/>`)
  svg.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`)
  svg.setAttribute('aria-label', says)
  svg.innerHTML = parts.join('')
}
