import { stat } from 'node:fs/promises'
import type { Problem } from '#core/fields/analysis.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import { refuse } from '#core/foundation/errors.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { DESCRIPTION_BYTES_MAX, type DrawingOutcome, type DrawingRequest, type FromChild } from '../drawing.ts'
import { type Child, type ChildEnd, KEPT_BYTES_MAX, START_MS, startChild } from './child-process.ts'
import { isLasting, lostPage, readAnswer } from './drawing-answer.ts'

export interface ChildPoolOptions {
  /** Drawings at a time, besides those that are already slow. */
  places: { pages: number; covers: number }
  heapMbMax: number
  /** For one page, from the moment when a child begins to draw it. */
  deadlineMs: number
  /** For the cover of a book during analysis, for which no user waits; `deadlineMs` by default. */
  coverDeadlineMs?: number
  residentMbMax?: number
  idleMs?: number
  /** For children that drew only covers. */
  coverIdleMs?: number
  slowMs?: number
}

/** The failure of an extra drawing is not remembered against the page. */
type DrawingOptions = { signal?: AbortSignal | undefined; isExtra?: boolean | undefined }

/** The largest picture that is decoded takes 1.3 GB, its page 100 MB, and what pdf.js keeps of the file 128 MB. */
const RESIDENT_MB_MAX = 2_048
/** Native code allocates at most about 2 GB a second. */
const MEMORY_EVERY_MS = 200
/** A user turns a page every minute or so; an idle child takes some 100 MB. */
const IDLE_MS = 120_000
/** A scan draws covers one after another; after it no more follow for long. */
const COVER_IDLE_MS = 10_000
/** Time for the child to stop by itself, which saves the process. */
const GRACE_MS = 1_000
/** Ordinary pages take a tenth of a second. A page that takes longer than this leaves its place to the next one and continues at low priority. */
const SLOW_MS = 4_000
/** Slow pages that may continue at once; beyond that, the oldest is terminated. */
const SLOW_MAX = 2
/** A second child is needed only when pages come faster than one child draws them; its start must not slow the first page. */
const SPARE_AFTER_MS = 1_000
/** Somebody who kills one child may have killed the idle ones too, which the pool notices later. */
const ATTEMPTS_MAX = 4
/** Children in a row that end before they are ready: so many are not an accident. */
const FAILED_STARTS_UNHEALTHY = 3
const TRY_AGAIN_MS = 5_000
/** How long a page is refused at once after a child died of it: clients retry again and again, each time for a whole deadline. */
const REFUSED_MS = 10 * 60_000
/** Some 1,000 pages. */
const REFUSED_BYTES_MAX = 1024 * 1024

interface Slot {
  child: Child
  /** False when the child ended first. */
  ready: Promise<boolean>
  /** Whether it works or is reserved for a job. */
  taken: boolean
  job: Job | null
  lastPath: string
  /** The purpose of its drawings; `page` once it has drawn one. Null before its first drawing. */
  drewFor: DrawingRequest['purpose'] | null
  /** When its drawing became slow, by performance.now(); null while it is not. */
  slowSince: number | null
  idle: NodeJS.Timeout | undefined
  ended: Promise<void>
}

interface Job {
  id: number
  settle: (outcome: DrawingOutcome | Error | Lost) => void
  /** Of the document; null until it arrives, undefined if it was not requested. */
  description: Uint8Array<ArrayBuffer> | null | undefined
}

interface Lost {
  end: ChildEnd
  detail: string
}

/** Draws pages in processes that can be terminated at any moment. */
export class ChildPool {
  readonly #options: Required<ChildPoolOptions>
  readonly #places: Record<DrawingRequest['purpose'], Semaphore>
  /** One book, however many of its pages take long, leaves room for others. */
  readonly #lanes: Semaphore
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
    this.#lanes = new Semaphore(Number.POSITIVE_INFINITY, Math.max(1, Math.floor(options.places.pages / 2)))
  }

  /** @throws unavailable while no child can start and after close; rejects with the reason of `signal` */
  async draw(request: DrawingRequest, { signal, isExtra = false }: DrawingOptions = {}): Promise<DrawingOutcome> {
    this.#checkOpen()
    const known = await this.#refused.find(request)
    if (known) return { problem: known }
    const places = this.#places[request.purpose]
    const drawing = () => places.run((leave) => this.#drawSurely(request, signal, leave), signal)
    const work = this.#lanes.run(drawing, signal, { key: request.path })
    const outcome = await orAborted(work, signal)
    if (isLasting(outcome) && !isExtra) await this.#refused.add(request, outcome.problem)
    return outcome
  }

  /** False after close, and while children end before they are ready; the call tries to start one again. */
  healthy(): boolean {
    if (this.#closed) return false
    if (this.#failedStarts < FAILED_STARTS_UNHEALTHY) return true
    if (Date.now() - this.#triedAt > TRY_AGAIN_MS) this.#start()
    return false
  }

  /** Process ids, for tests. */
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
      const slot = await this.#take(request)
      const begunAt = performance.now()
      const { outcome, description } = await this.#drawIn(slot, request, signal, leave)
      if (outcome instanceof Error) throw outcome
      const described = { ...(description && { description }), drawnMs: performance.now() - begunAt }
      if (!('end' in outcome)) return { ...outcome, ...described }
      this.#checkOpen()
      signal?.throwIfAborted()
      if (outcome.end === 'outside' || outcome.end === 'closed') {
        if (attempt < ATTEMPTS_MAX) continue
        refuse('unavailable', 'Something outside Carrel keeps killing the processes that draw pages.', { retryAfterSeconds: 5 })
      }
      return { problem: lostPage(request, outcome, { ...this.#options, deadlineMs: this.#deadlineOf(request) }), ...described }
    }
  }

  /** Takes an idle child: the one that has this file open, else the one used last. */
  async #take({ path, purpose }: DrawingRequest): Promise<Slot> {
    for (let attempt = 1; attempt <= FAILED_STARTS_UNHEALTHY; attempt++) {
      this.#checkOpen()
      const free = [...this.#slots].filter((slot) => !slot.taken)
      const slot = free.findLast((each) => each.lastPath === path) ?? free.at(-1) ?? this.#start()
      slot.taken = true
      clearTimeout(slot.idle)
      // Nobody waits for a cover, and a child takes half a second of a core and 100 MB.
      if (purpose === 'page') this.#planSpare()
      if (await slot.ready) return slot
    }
    refuse('unavailable', 'No process for drawing pages can be started. Check the server log for the reason.', { retryAfterSeconds: 30 })
  }

  async #drawIn(slot: Slot, request: DrawingRequest, signal: AbortSignal | undefined, leave: () => void) {
    const deadlineMs = this.#deadlineOf(request)
    const id = ++this.#jobs
    const { promise, resolve } = Promise.withResolvers<DrawingOutcome | Error | Lost>()
    const job: Job = { id, settle: resolve, description: request.picture || !request.describes ? undefined : null }
    slot.job = job
    slot.lastPath = request.path
    if (slot.drewFor !== 'page') slot.drewFor = request.purpose
    const timers = [setTimeout(() => this.#end(slot, 'deadline'), deadlineMs + GRACE_MS)]
    // Covers have their own places, one for each waiting thread: at low priority even a good one would miss its deadline during a scan.
    if (request.purpose === 'page') timers.push(setTimeout(() => this.#yieldSlow(slot, leave), this.#options.slowMs))
    const giveUp = () => {
      slot.child.send({ kind: 'cancel', id })
      timers.push(setTimeout(() => this.#end(slot, 'closed'), GRACE_MS))
    }
    this.#watchMemory()
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp, { once: true })
    send(slot.child, { id, request, deadlineMs })
    try {
      return { outcome: await promise, description: job.description }
    } finally {
      for (const timer of timers) clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      this.#giveBack(slot)
    }
  }

  #deadlineOf({ purpose, picture }: DrawingRequest): number {
    return purpose === 'cover' && !picture ? this.#options.coverDeadlineMs : this.#options.deadlineMs
  }

  #giveBack(slot: Slot): void {
    slot.job = null
    if (!this.#slots.has(slot)) return
    // Only root can raise a priority again.
    if (slot.slowSince !== null || slot.child.residentBytes() > KEPT_BYTES_MAX) {
      this.#end(slot, 'closed')
      return
    }
    slot.taken = false
    this.#endWhenIdle(slot)
    // The child used last is reused first, so that the others become idle and end.
    this.#slots.delete(slot)
    this.#slots.add(slot)
  }

  #yieldSlow(slot: Slot, leave: () => void): void {
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
    const job = message && 'id' in message && message.id === slot.job?.id ? slot.job : null
    if (job && message.kind === 'described' && job.description === null && body.length <= DESCRIPTION_BYTES_MAX) {
      job.description = body
      return
    }
    const answer = job && readAnswer(message, body)
    if (answer === null) this.#end(slot, 'crash')
    else job?.settle(answer)
  }

  #end(slot: Slot, end: ChildEnd): void {
    // Reserved before it has ended, so that nobody takes it.
    slot.taken = true
    slot.child.kill(end)
  }

  #endWhenIdle(slot: Slot): void {
    const waitMs = this.#idleMsOf(slot)
    const end = () => {
      // Another child may have drawn a page in the meantime.
      if (this.#idleMsOf(slot) > waitMs) this.#endWhenIdle(slot)
      else this.#end(slot, 'closed')
    }
    slot.idle = setTimeout(end, waitMs).unref()
  }

  #idleMsOf({ drewFor }: Slot): number {
    // A spare child waits as long as the children that it is to replace.
    const servesPages = drewFor === 'page' || (drewFor === null && [...this.#slots].some((each) => each.drewFor === 'page'))
    const { idleMs, coverIdleMs } = this.#options
    return servesPages ? idleMs : Math.min(idleMs, coverIdleMs)
  }

  /** Keeps one idle child besides those at work, so that the next page does not wait for a start. */
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

function send(child: Child, { id, request, deadlineMs }: { id: number; request: DrawingRequest; deadlineMs: number }): void {
  const { picture } = request
  if (picture) child.send({ kind: 'picture', id, width: picture.width, height: picture.height }, picture.bytes)
  else child.send({ kind: 'draw', id, request, deadlineMs })
}

/** Pages that killed a child; an entry holds until its file changes. */
class RefusedPages {
  readonly #refused = new BoundedCache<{ problem: Problem; version: string }>({ bytesMax: REFUSED_BYTES_MAX, ttl: REFUSED_MS })

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

/** Identifies the content of the file; empty when the file cannot be read. */
async function versionOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(
    ({ size, mtimeNs }) => `${size} ${mtimeNs}`,
    () => '',
  )
}

/** Rejects at once when the signal aborts; the work may go on for a while. */
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
    // Its later failure has no listener.
    work.catch(() => {})
    promise.catch(() => {})
  }
}
