import { median } from '#bench/load.ts'
import { verdict } from '#bench/verdict.ts'

/** Bars by figure; those marked are times, which depend on the machine. */
const BARS = {
  'initial JavaScript, gzip KB': 200,
  'initial CSS, gzip KB': 30,
  'reader of pages, gzip KB more': 50,
  'reader of EPUB, gzip KB more': 45,
  'administration, gzip KB more': 60,
  'home, cold: largest paint ms': 1500,
  'home, cold: interactive ms': 1500,
  'home, warm: largest paint ms': 800,
  'home, warm: interactive ms': 800,
  'layout shift, worst page': 0.02,
  'interactions: p98 ms': 200,
  'wheel: gap of frames p95 ms': 34,
  'drag: gap of frames p95 ms': 34,
  'keys: gap of frames p95 ms': 34,
  'wheel: longest task ms': 100,
  'drag: longest task ms': 100,
  'keys: longest task ms': 100,
  'list: nodes': 1500,
  'list: heap after the end MB': 80,
  'list: titles after a jump ms': 300,
  'answers with 429': 0,
  'pages requested for rows passed': 0,
  'search after the last key ms': 150,
  'page turn, preloaded ms': 100,
  'page of 700 KB, not preloaded ms': 400,
  'book page to the first page ms': 600,
  'EPUB chapter of 100 KB ms': 500,
  'EPUB turn ms': 100,
  'long book: renderer MB above its start': 250,
  'sized cover, first ms': 25,
  'sized cover, again ms': 2,
  'fresh clone: page built s': 45,
  'fresh clone: packages MB': 150,
  'sources changed: page built s': 8,
  'sources unchanged ms': 50,
  'server memory for the interface MB': 10,
} as const
export type WebFigure = keyof typeof BARS

/** The bare page slowed down four times on two cores. The least that was measured, beside other work: a quiet machine is faster, so this judges too strictly. */
const REFERENCE_BARE_MS = 300

/** Collects what was measured in the rounds. */
export class WebFigures {
  readonly #values = new Map<WebFigure, number[]>()
  readonly #bareMs: number[] = []

  add(figure: WebFigure, ...values: readonly number[]): void {
    this.#values.set(figure, [...(this.#values.get(figure) ?? []), ...values])
  }

  /** Time to the paint of the bare page. */
  addBare(ms: number): void {
    this.#bareMs.push(ms)
  }

  /** Prints median and worst of each figure, and judges the median. Times of a machine that is slower now are divided by how much slower it shows the bare page. */
  report(): void {
    const bare = median(this.#bareMs)
    const slower = Math.max(1, bare / REFERENCE_BARE_MS)
    console.log(
      `bare page: median ${bare.toFixed(0)} ms, least ${Math.min(...this.#bareMs).toFixed(0)}, worst ${Math.max(0, ...this.#bareMs).toFixed(0)} ms; times are divided by ${slower.toFixed(2)}`,
    )
    const missed: string[] = []
    const unmeasured: string[] = []
    for (const [figure, atMost] of Object.entries(BARS) as [WebFigure, number][]) {
      const values = this.#values.get(figure)
      if (!values) {
        unmeasured.push(figure)
        continue
      }
      const value = median(values)
      const judged = / m?s$/.test(figure) && this.#bareMs.length > 0 ? value / slower : value
      const plain = judged === value ? '' : `, ${round(judged)} here`
      verdict(`${figure}: median ${round(value)}, worst ${round(Math.max(...values))}${plain}`, judged, { atMost })
      if (judged > atMost) missed.push(figure)
    }
    if (unmeasured.length > 0) console.log(`not measured in this run: ${unmeasured.join('; ')}`)
    console.log(missed.length > 0 ? `MISSED: ${missed.join('; ')}` : 'every bar is met')
  }
}

const round = (value: number): number => Number(value.toFixed(value < 10 ? 3 : 0))
