import { type BigIntStats, stat } from 'node:fs'
import { promisify } from 'node:util'
import { LRUCache } from 'lru-cache'
import { refuse } from '#core/foundation/errors.ts'
import { KeyedSemaphore, Semaphore } from '#core/foundation/semaphore.ts'
import type { Problem } from '#core/metadata/analysis.ts'
import type { DrawingOutcome, DrawingRequest, FromChild } from '../drawing.ts'
import { type ChildEnd, type DrawingChild, startChild } from './child-process.ts'
import { isLasting, lostPage, readAnswer } from './drawing-answer.ts'

export interface ChildPoolOptions {
  /** Drawings at a time, those aside that have taken long already. */
  places: { pages: number; covers: number }
  heapMbMax: number
  /** Of one page, from the moment that a child begins with it. */
  deadlineMs: number
  /** Of the cover of a book that is analyzed, which nobody waits for; `deadlineMs` where it is left out. */
  coverDeadlineMs?: number
  residentMbMax?: number
  idleMs?: number
  /** Of children that drew covers alone. */
  coverIdleMs?: number
  slowMs?: number
}

/** Draws pages in processes that can be ended at any moment. */
export interface ChildPool {
  /** @throws unavailable while no child can be started and once closed; rejects with the reason of `signal` */
  draw(request: DrawingRequest, options?: { signal?: AbortSignal | undefined }): Promise<DrawingOutcome>
  /** False once closed, and while children end before they can do anything; asking tries again. */
  healthy(): boolean
  /** How many processes there are; for tests. */
  pids(): number[]
  close(): Promise<void>
}

/** The largest picture that is decoded takes 1.3 GB, its page 100 MB, and what pdf.js keeps of the file 128 MB. */
const RESIDENT_MB_MAX = 2_048
/** Memory that drawing leaves behind is mostly not given back; a child that holds this much is not kept for the next page. */
const KEPT_MB_MAX = 512
/** Native code takes about 2 GB a second when it takes all it can get. */
const MEMORY_EVERY_MS = 200
/** A reader turns a page every minute or so; a child that waits takes some 100 MB. */
const IDLE_MS = 120_000
/** Covers are drawn one after another while there is a scan; after it nobody wants another for long. */
const COVER_IDLE_MS = 10_000
/** Time for the painter to give up by itself, which spares the process. */
const GRACE_MS = 1_000
/** Ordinary pages take a tenth of a second. One that takes longer than this gives its place to the next, and goes on behind all others. */
const SLOW_MS = 4_000
/** As many slow pages as may go on; one more, and the oldest is ended. */
const SLOW_MAX = 2
/** A child starts in half a second; on a machine that is busy with everything at once it has been seen to take several. */
const START_MS = 30_000
/** A second child is only needed when pages come faster than one draws them; the first page does not share the processor with its start. */
const SPARE_AFTER_MS = 1_000
/** Whoever kills one child may have killed the idle ones too, which is not known at once. */
const ATTEMPTS_MAX = 4
/** Children that end before they are ready: so many in a row are no accident. */
const FAILED_STARTS_UNHEALTHY = 3
const TRY_AGAIN_MS = 5_000
/** A page that a child was lost over is refused at once for so long: readers ask again and again, each time for a whole deadline. */
const REFUSED_MS = 10 * 60_000
const REFUSED_MAX = 1_000

interface Slot {
  child: DrawingChild
  /** False when it ended before. */
  ready: Promise<boolean>
  /** Whose work it does or waits to do. */
  taken: boolean
  job: { id: number; settle: (outcome: DrawingOutcome | Error | Lost) => void } | null
  lastPath: string
  /** What it has drawn for; pages, once it has drawn one. Null while it has drawn nothing. */
  drewFor: DrawingRequest['purpose'] | null
  /** Since when it draws behind all others, by performance.now(); null while it does not. */
  slowSince: number | null
  idle: NodeJS.Timeout | undefined
  ended: Promise<void>
}

interface Lost {
  end: ChildEnd
  detail: string
}

export function openChildPool(options: ChildPoolOptions): ChildPool {
  return new Children(options)
}

class Children implements ChildPool {
  readonly #options: Required<ChildPoolOptions>
  readonly #places: Record<DrawingRequest['purpose'], Semaphore>
  /** One book, however many of its pages take long, leaves room for others. */
  readonly #lanes: KeyedSemaphore
  readonly #slots = new Set<Slot>()
  readonly #refused = new RefusedPages()
  #jobs = 0
  #failedStarts = 0
  #triedAt = 0
  #spare: NodeJS.Timeout | undefined
  #memory: NodeJS.Timeout | undefined
  #closed = false

  constructor(options: ChildPoolOptions) {
    this.#options = {
      residentMbMax: RESIDENT_MB_MAX,
      idleMs: IDLE_MS,
      coverIdleMs: COVER_IDLE_MS,
      slowMs: SLOW_MS,
      coverDeadlineMs: options.deadlineMs,
      ...options,
    }
    this.#places = { page: new Semaphore(options.places.pages), cover: new Semaphore(options.places.covers) }
    this.#lanes = new KeyedSemaphore(Math.max(1, Math.floor(options.places.pages / 2)))
  }

  async draw(request: DrawingRequest, { signal }: { signal?: AbortSignal | undefined } = {}): Promise<DrawingOutcome> {
    this.#checkOpen()
    const known = await this.#refused.find(request)
    if (known) return { problem: known }
    const places = this.#places[request.purpose]
    const drawing = () => places.run((leave) => this.#drawSurely(request, signal, leave), signal)
    const work = this.#lanes.run(request.path, drawing, signal)
    const outcome = await orAborted(work, signal)
    if (isLasting(outcome)) await this.#refused.add(request, outcome.problem)
    return outcome
  }

  healthy(): boolean {
    if (this.#closed) return false
    if (this.#failedStarts < FAILED_STARTS_UNHEALTHY) return true
    if (Date.now() - this.#triedAt > TRY_AGAIN_MS) this.#start()
    return false
  }

  pids(): number[] {
    return [...this.#slots].map(({ child }) => child.pid)
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#spare)
    clearInterval(this.#memory)
    const slots = [...this.#slots]
    for (const slot of slots) this.#end(slot, 'closed')
    await Promise.all(slots.map(({ ended }) => ended))
  }

  #checkOpen(): void {
    if (this.#closed) refuse('unavailable', 'The server is shutting down.')
  }

  /** A kill from outside counts against nothing: the page is drawn by another child. */
  async #drawSurely(request: DrawingRequest, signal: AbortSignal | undefined, leave: () => void): Promise<DrawingOutcome> {
    for (let attempt = 1; ; attempt++) {
      const slot = await this.#take(request.path)
      const outcome = await this.#drawIn(slot, request, signal, leave)
      if (outcome instanceof Error) throw outcome
      if (!('end' in outcome)) return outcome
      this.#checkOpen()
      signal?.throwIfAborted()
      if (outcome.end === 'outside' || outcome.end === 'closed') {
        if (attempt < ATTEMPTS_MAX) continue
        refuse('unavailable', 'The processes that draw pages are ended from outside, again and again.', { retryAfterSeconds: 5 })
      }
      return { problem: lostPage(request, outcome, { ...this.#options, deadlineMs: this.#deadlineOf(request) }) }
    }
  }

  /** A child that is ready, and nobody else's: the one that has this file open, else the one used last. */
  async #take(path: string): Promise<Slot> {
    for (let attempt = 1; attempt <= FAILED_STARTS_UNHEALTHY; attempt++) {
      this.#checkOpen()
      const free = [...this.#slots].filter((slot) => !slot.taken)
      const slot = free.findLast((each) => each.lastPath === path) ?? free.at(-1) ?? this.#start()
      slot.taken = true
      clearTimeout(slot.idle)
      this.#planSpare()
      if (await slot.ready) return slot
    }
    refuse('unavailable', 'No process for drawing pages can be started; the log of the server may say why.', { retryAfterSeconds: 30 })
  }

  async #drawIn(slot: Slot, request: DrawingRequest, signal: AbortSignal | undefined, leave: () => void) {
    const deadlineMs = this.#deadlineOf(request)
    const id = ++this.#jobs
    const { promise, resolve } = Promise.withResolvers<DrawingOutcome | Error | Lost>()
    slot.job = { id, settle: resolve }
    slot.lastPath = request.path
    if (slot.drewFor !== 'page') slot.drewFor = request.purpose
    const timers = [setTimeout(() => this.#end(slot, 'deadline'), deadlineMs + GRACE_MS)]
    // Covers have places of their own, as many as threads wait for them: behind all others a good one would not be done in time during a scan.
    if (request.purpose === 'page') timers.push(setTimeout(() => this.#goBehind(slot, leave), this.#options.slowMs))
    const giveUp = () => {
      slot.child.send({ kind: 'cancel', id })
      timers.push(setTimeout(() => this.#end(slot, 'closed'), GRACE_MS))
    }
    this.#watchMemory()
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp, { once: true })
    this.#send(slot.child, id, request)
    try {
      return await promise
    } finally {
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      this.#giveBack(slot)
    }
  }

  #deadlineOf({ purpose, picture }: DrawingRequest): number {
    return purpose === 'cover' && !picture ? this.#options.coverDeadlineMs : this.#options.deadlineMs
  }

  #send(child: DrawingChild, id: number, request: DrawingRequest): void {
    const { picture } = request
    if (picture) child.send({ kind: 'picture', id, width: picture.width, height: picture.height }, picture.bytes)
    else child.send({ kind: 'draw', id, request, deadlineMs: this.#deadlineOf(request) })
  }

  #giveBack(slot: Slot): void {
    slot.job = null
    if (!this.#slots.has(slot)) return
    // Nobody but root can raise a priority again.
    if (slot.slowSince !== null || slot.child.residentBytes() > KEPT_MB_MAX * MIB) {
      this.#end(slot, 'closed')
      return
    }
    slot.taken = false
    this.#endWhenIdle(slot)
    // The one used last is the first to be used again, so that the others may end.
    this.#slots.delete(slot)
    this.#slots.add(slot)
  }

  #goBehind(slot: Slot, leave: () => void): void {
    slot.slowSince = performance.now()
    slot.child.yieldToAll()
    const slow = [...this.#slots].filter((each) => each.slowSince !== null).sort((a, b) => (a.slowSince ?? 0) - (b.slowSince ?? 0))
    if (slow.length > SLOW_MAX) this.#end(slow[0] as Slot, 'deadline')
    leave()
  }

  #start(): Slot {
    this.#triedAt = Date.now()
    const ready = Promise.withResolvers<boolean>()
    const ended = Promise.withResolvers<void>()
    const late = setTimeout(() => this.#end(slot, 'closed'), START_MS)
    let begun = false
    const child = startChild(this.#options.heapMbMax, {
      onMessage: (message, body) => {
        if (message?.kind !== 'ready') return this.#settle(slot, message, body)
        begun = true
        clearTimeout(late)
        this.#failedStarts = 0
        if (!slot.taken) this.#endWhenIdle(slot)
        ready.resolve(true)
      },
      onEnd: (end, detail) => {
        clearTimeout(late)
        clearTimeout(slot.idle)
        this.#slots.delete(slot)
        if (!begun) this.#failedStarts++
        ready.resolve(false)
        slot.job?.settle({ end, detail })
        ended.resolve()
      },
    })
    const slot: Slot = {
      child,
      ready: ready.promise,
      taken: false,
      job: null,
      lastPath: '',
      drewFor: null,
      slowSince: null,
      idle: undefined,
      ended: ended.promise,
    }
    this.#slots.add(slot)
    return slot
  }

  #settle(slot: Slot, message: FromChild, body: Uint8Array<ArrayBuffer>): void {
    const answer = message && 'id' in message && message.id === slot.job?.id ? readAnswer(message, body) : null
    if (answer === null) this.#end(slot, 'crash')
    else slot.job?.settle(answer)
  }

  #end(slot: Slot, end: ChildEnd): void {
    // Before it has ended: nobody is to take it.
    slot.taken = true
    slot.child.kill(end)
  }

  #endWhenIdle(slot: Slot): void {
    // One that stands ready for the next waits as long as those that it is to relieve.
    const servesPages = slot.drewFor === 'page' || (slot.drewFor === null && [...this.#slots].some(({ drewFor }) => drewFor === 'page'))
    const { idleMs, coverIdleMs } = this.#options
    slot.idle = setTimeout(() => this.#end(slot, 'closed'), servesPages ? idleMs : Math.min(idleMs, coverIdleMs)).unref()
  }

  /** One child more than are at work, so that the next page does not wait for a start. */
  #planSpare(): void {
    this.#spare ??= setTimeout(() => {
      this.#spare = undefined
      const spares = [...this.#slots].filter((slot) => !slot.taken).length
      if (!this.#closed && spares === 0) this.#start()
    }, SPARE_AFTER_MS).unref()
  }

  #watchMemory(): void {
    this.#memory ??= setInterval(() => {
      const busy = [...this.#slots].filter((slot) => slot.job)
      for (const slot of busy) {
        if (slot.child.residentBytes() > this.#options.residentMbMax * MIB) this.#end(slot, 'memory')
      }
      if (busy.length > 0) return
      clearInterval(this.#memory)
      this.#memory = undefined
    }, MEMORY_EVERY_MS).unref()
  }
}

/** Pages that a child was lost over, for as long as their files stay as they are. */
class RefusedPages {
  readonly #refused = new LRUCache<string, { problem: Problem; version: string }>({ max: REFUSED_MAX, ttl: REFUSED_MS })

  async find(request: DrawingRequest): Promise<Problem | null> {
    const refused = this.#refused.get(keyOf(request))
    return refused && refused.version === (await versionOf(request.path)) ? refused.problem : null
  }

  async add(request: DrawingRequest, problem: Problem): Promise<void> {
    this.#refused.set(keyOf(request), { problem, version: await versionOf(request.path) })
  }
}

const MIB = 1024 * 1024

const keyOf = ({ path, index }: DrawingRequest) => `${index} ${path}`

const statFile = promisify(stat) as (path: string, options: { bigint: true }) => Promise<BigIntStats>

/** Of the file's content; empty where it cannot be told. */
async function versionOf(path: string): Promise<string> {
  return statFile(path, { bigint: true }).then(
    ({ size, mtimeNs }) => `${size} ${mtimeNs}`,
    () => '',
  )
}

/** Whoever gives up does not wait until the work has stopped. */
async function orAborted<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return work
  const { promise, reject } = Promise.withResolvers<never>()
  const leave = () => reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', leave)
    // It may still fail when nobody listens any more.
    work.catch(() => {})
    promise.catch(() => {})
  }
}
