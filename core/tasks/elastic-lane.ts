import { type ClaimedJob, type LaneOptions, TaskLane } from '#core/tasks/task-lane.ts'

/** How often the number of workers is reconsidered. */
const CHECK_MS = 500
/** A task that would wait longer on this node should wait in the queue, for any node and behind more urgent ones. */
const WAIT_MS = 1_000

/**
 * The workers of one type on this node: `concurrency` of them, and up to `burst` more while its tasks are short and many. They are a pool of their own, which
 * ends when the tasks take longer or there are none.
 */
export class ElasticLane {
  readonly #options: LaneOptions
  readonly #burst: number
  readonly #steady: TaskLane
  #extra: TaskLane | null = null
  #extraSize = 0
  /** The next figures are partly of the time before. */
  #isSettling = false
  /** Pools that have stopped claiming jobs. */
  readonly #ending = new Map<TaskLane, Promise<void>>()
  readonly #timer: NodeJS.Timeout | null
  #ended = 0
  #totalMs = 0
  #isStopping = false

  constructor(options: LaneOptions, burst: number) {
    this.#options = { ...options, perform: (job) => this.#timed(options, job) }
    this.#burst = burst
    this.#steady = new TaskLane(this.#options)
    this.#timer = burst > 0 ? setInterval(() => this.#adapt(), CHECK_MS).unref() : null
  }

  get workers(): readonly string[] {
    const lanes = [this.#steady, ...(this.#extra ? [this.#extra] : []), ...this.#ending.keys()]
    return lanes.flatMap((lane) => lane.workers)
  }

  start(): void {
    this.#steady.start()
  }

  nudge(): void {
    this.#steady.nudge()
    this.#extra?.nudge()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#endExtra()
    await Promise.all([this.#steady.stop(), ...this.#ending.values()])
  }

  async #timed({ perform }: LaneOptions, job: ClaimedJob): Promise<void> {
    const begun = performance.now()
    let isTimed = false
    const worked = () => {
      if (isTimed) return
      isTimed = true
      this.#ended++
      this.#totalMs += performance.now() - begun
    }
    try {
      await perform({ ...job, worked })
    } finally {
      worked()
    }
  }

  #adapt(): void {
    const [count, meanMs] = [this.#ended, this.#totalMs / this.#ended]
    this.#ended = 0
    this.#totalMs = 0
    const { concurrency } = this.#options
    const isSettling = this.#isSettling
    this.#isSettling = false
    if (this.#extra !== null && (count === 0 || meanMs > 2 * WAIT_MS)) this.#endExtra()
    if (isSettling || count < 2 * concurrency) return
    // With more tasks for the same processors, each takes as many times longer.
    const wanted = Math.min(this.#burst, Math.floor((concurrency + this.#extraSize) * (WAIT_MS / meanMs)) - concurrency)
    // A few more save nothing. The first tasks after a pause take longer than the others.
    const isWorthIt = this.#extra === null ? wanted >= Math.min(concurrency, this.#burst) : wanted >= 2 * this.#extraSize
    if (!isWorthIt) return
    this.#endExtra()
    this.#startExtra(wanted)
  }

  #startExtra(concurrency: number): void {
    if (this.#isStopping) return
    this.#extraSize = concurrency
    this.#isSettling = true
    this.#extra = new TaskLane({ ...this.#options, concurrency })
    this.#extra.start()
  }

  #endExtra(): void {
    const lane = this.#extra
    if (lane === null) return
    this.#extra = null
    this.#extraSize = 0
    this.#ending.set(
      lane,
      lane.stop().finally(() => this.#ending.delete(lane)),
    )
  }
}
