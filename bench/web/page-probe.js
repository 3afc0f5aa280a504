// Measures inside a page of the interface; added to each page before its own scripts. Times are in milliseconds since the page was asked for.
const probe = { paintMs: 0, shift: 0, longestMs: 0, lastLongEndMs: 0, firstWorkMs: 0, interactionsMs: [] }
globalThis.probe = probe

const observe = (type, each, more = {}) =>
  new PerformanceObserver((list) => list.getEntries().forEach(each)).observe({ type, buffered: true, ...more })
observe('largest-contentful-paint', (entry) => (probe.paintMs = entry.startTime))
observe('layout-shift', (entry) => (probe.shift += entry.hadRecentInput ? 0 : entry.value))
observe('longtask', (entry) => {
  probe.longestMs = Math.max(probe.longestMs, entry.duration)
  probe.lastLongEndMs = entry.startTime + entry.duration
})
observe('event', (entry) => entry.interactionId && probe.interactionsMs.push(entry.duration), { durationThreshold: 16 })

/** A step that takes longer does not work. */
const PATIENCE_MS = 20_000
const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve))
const isDone = (picture) => picture.complete && picture.naturalWidth > 0
const spread = () => document.querySelector('figure.spread')
const searchField = () => document.querySelector('input[type="search"]')
/** How far a text is read; its pages have the size of the book's, not of the window's. */
const textPlace = () => document.querySelector('.hairline')?.style.getPropertyValue('--at')
const cellsSeen = () =>
  [...document.querySelectorAll('[role="gridcell"]')].filter((cell) => {
    const { top, bottom } = cell.getBoundingClientRect()
    return bottom > 64 && top < innerHeight
  })

/** What can be waited for. Each is asked once before (`null`) and then at every frame with what it returned. */
const WAITS = {
  page: {
    before: () => spread()?.getAttribute('aria-label') ?? null,
    isThere: (before) => {
      const pictures = [...(spread()?.querySelectorAll('.page-box') ?? [])].map((box) => box.querySelector('img'))
      return pictures.length > 0 && spread().getAttribute('aria-label') !== before && pictures.every((each) => each && isDone(each))
    },
  },
  text: { before: () => textPlace() ?? null, isThere: (before) => textPlace() !== undefined && textPlace() !== before },
  search: {
    before: () => searchField().value,
    isThere: (before) => {
      if (searchField().value === before) return false
      const words = `q=${encodeURIComponent(searchField().value)}`
      const answers = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/api/v1/search') && name.endsWith(words))
      return answers.some(({ responseEnd }) => responseEnd > 0) && document.querySelector('main [data-result]') !== null
    },
  },
}

/** The time from the next key or click (or from now, where a frame of a book gets it) until the frame that shows its result. */
probe.after = async (name) => {
  let begunMs = performance.now()
  const begin = (event) => (begunMs = event.timeStamp)
  for (const type of ['keydown', 'click']) addEventListener(type, begin, { capture: true, once: true })
  const { before, isThere } = WAITS[name]
  const from = before()
  while (!isThere(from)) {
    if (performance.now() - begunMs > PATIENCE_MS)
      throw new Error(`${name}: nothing new in ${PATIENCE_MS} ms after ${JSON.stringify(from)}`)
    await nextFrame()
  }
  // The picture of this state is made in the frame that follows.
  await nextFrame()
  for (const type of ['keydown', 'click']) removeEventListener(type, begin, { capture: true })
  return performance.now() - begunMs
}

/** The gaps between frames, the longest task and the most nodes until `stop`. */
probe.watch = () => {
  const seen = { gaps: [], nodes: 0, isOn: true }
  probe.longestMs = 0
  let lastMs = performance.now()
  const look = (nowMs) => {
    seen.gaps.push(nowMs - lastMs)
    lastMs = nowMs
    if (seen.gaps.length % 10 === 0) seen.nodes = Math.max(seen.nodes, document.getElementsByTagName('*').length)
    if (seen.isOn) requestAnimationFrame(look)
  }
  requestAnimationFrame(look)
  probe.stop = async () => {
    seen.isOn = false
    await nextFrame()
    // Long tasks are announced later than they end.
    await new Promise((resolve) => setTimeout(resolve, 100))
    const gaps = seen.gaps.sort((a, b) => a - b)
    return { gapP95Ms: gaps[Math.floor(gaps.length * 0.95)], longestMs: probe.longestMs, nodes: seen.nodes }
  }
}

/** Drags the bar of the list, in each frame by an equal step, to this part of it. */
probe.drag = async (part, steps) => {
  const from = scrollY
  const to = (document.documentElement.scrollHeight - innerHeight) * part
  for (let step = 1; step <= steps; step++) {
    scrollTo({ top: from + ((to - from) * step) / steps, behavior: 'instant' })
    await nextFrame()
  }
}

/** Jumps to this part of the list; returns the time until all that is seen has its title. */
probe.jump = async (part) => {
  const begunMs = performance.now()
  scrollTo({ top: (document.documentElement.scrollHeight - innerHeight) * part, behavior: 'instant' })
  // The rows of the new place are there one frame later.
  await nextFrame()
  await nextFrame()
  const isNamed = (cell) => cell.querySelector('a') !== null
  while (cellsSeen().length === 0 || !cellsSeen().every(isNamed)) await nextFrame()
  return performance.now() - begunMs
}

const lookForWork = () => {
  if (document.querySelector('main a[href*="books/"]')) probe.firstWorkMs = performance.now()
  else requestAnimationFrame(lookForWork)
}
requestAnimationFrame(lookForWork)
