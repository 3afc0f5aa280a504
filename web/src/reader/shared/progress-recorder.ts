/** A place in a book as it is sent: pages of comics and PDFs, or the locator of a text. */
export interface Place<Sent> {
  sent: Sent
  /** Whether it is the beginning of the book, where a mere glance is not reading. */
  isStart: boolean
}

/** What the server answered to a place. */
export type Answer<Elsewhere> =
  /** `updatedAt` of the recorded place. */
  | { kind: 'recorded'; updatedAt: string }
  /** Somebody read on elsewhere since. */
  | { kind: 'conflict'; elsewhere: Elsewhere }
  /** No connection, or a server that asks to come back; sending again may work. */
  | { kind: 'later' }
  /** Sending again will not work, such as after the loss of a right. */
  | { kind: 'refused'; sentence: string }

/** `updatedAt` of the record from which a place starts, null for none; undefined replaces whatever is recorded. */
export type BasedOn = string | null | undefined

export interface RecorderOptions<Sent, Elsewhere> {
  /** `updatedAt` of the place from which reading starts; null for a book that was not begun. */
  basedOn: string | null
  /** That place. */
  from: Sent | null
  isIncognito: boolean
  /** What is recorded when the reader leaves without a turn: the only page of a book. */
  onLeaving: Sent | null
  /** Whether the user who reads is still the one who is signed in. */
  isSameUser(): boolean
  /** Whether the place of a conflict is one of this reader, as when an answer was lost. */
  isSamePlace(elsewhere: Elsewhere, sent: Sent): boolean
  /** @param keepalive whether the page is about to end */
  send(sent: Sent, request: { basedOn: BasedOn; keepalive: boolean }): Promise<Answer<Elsewhere>>
  /** Keeps a place that could not be sent, over the end of the page; null once it is sent. */
  keep(unsent: { sent: Sent; basedOn: BasedOn } | null): void
  onConflict(elsewhere: Elsewhere): void
  onRefused(sentence: string): void
  onWaiting(isWaiting: boolean): void
}

/** After the last turn: leafing records one place, and a killed tab loses less than a second. */
const REST_MS = 800
/** Between attempts without a connection; `online` of the browser does not tell when a server is back. */
const RETRY_MS = 5_000

/** Places that may have been recorded without an answer. Each takes a turn and a rest, so that these are a minute without a connection. */
const OWN_MAX = 50

/** Records places of one book, one request at a time, the latest wins. `leave` sends what is left. */
export class ProgressRecorder<Sent, Elsewhere extends { updatedAt: string }> {
  readonly #options: RecorderOptions<Sent, Elsewhere>
  #basedOn: string | null
  #isIncognito: boolean
  #unsent: Sent | null = null
  #onLeaving: Sent | null
  /** The place that this recorder knows to be recorded, and those that may be: who finds one of them there has not read on. */
  #own: Sent[]
  #timer: ReturnType<typeof setTimeout> | null = null
  #isSending = false
  /** Until all requests have an answer. */
  #running: Promise<void> = Promise.resolve()
  /** While the reader is asked which place holds, nothing is sent. */
  #isAsking = false
  /** So it is while the book is marked as unread. */
  #isForgetting = false

  constructor(options: RecorderOptions<Sent, Elsewhere>) {
    this.#options = options
    this.#basedOn = options.basedOn
    this.#isIncognito = options.isIncognito
    this.#onLeaving = options.onLeaving
    this.#own = options.from === null ? [] : [options.from]
  }

  /** A glance at the start of a book that was not begun does not begin it. */
  moved({ sent, isStart }: Place<Sent>): void {
    if (this.#isIncognito || (isStart && this.#basedOn === null && this.#unsent === null)) return
    this.#unsent = sent
    this.#wait(REST_MS)
  }

  setIncognito(isIncognito: boolean): void {
    this.#isIncognito = isIncognito
    if (!isIncognito) return
    this.#unsent = null
    this.#stopTimer()
  }

  /** The answer to a conflict: `mine` overwrites the other place, `theirs` starts from it. @param updatedAt of the other place */
  settle(choice: 'mine' | 'theirs', updatedAt: string): void {
    this.#isAsking = false
    this.#basedOn = updatedAt
    this.#own = []
    if (choice === 'theirs') {
      this.#unsent = null
      this.#options.keep(null)
    } else if (this.#unsent !== null) this.#wait(0)
  }

  /**
   * Has the book marked as unread: what was read before is not sent after that, neither after a rest nor by leaving.
   * @param mark asks the server; if it fails, nothing is forgotten
   */
  async forget(mark: () => Promise<unknown>): Promise<void> {
    this.#isForgetting = true
    try {
      // They could arrive after the mark, and begin the book again.
      await this.#running
      await mark()
      this.#unsent = null
      this.#onLeaving = null
      this.#own = []
      this.#basedOn = null
      this.#options.keep(null)
    } finally {
      this.#isForgetting = false
      if (this.#unsent !== null) this.#wait(REST_MS)
    }
  }

  /** Sends now what waits, such as when the connection is back. */
  flush(keepalive = false): void {
    this.#stopTimer()
    void this.#send(keepalive)
  }

  /** Sends what is left, also when the page ends before the answer. */
  leave(): void {
    if (!this.#isIncognito) this.#unsent ??= this.#onLeaving
    this.flush(true)
  }

  #wait(ms: number): void {
    this.#stopTimer()
    this.#timer = setTimeout(() => void this.#send(false), ms)
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  async #send(keepalive: boolean): Promise<void> {
    const sent = this.#unsent
    // When the page ends, a second request beside a running one is better than a lost place.
    if (sent === null || this.#isAsking || this.#isForgetting || (this.#isSending && !keepalive)) return
    if (!this.#options.isSameUser()) {
      this.#keep(sent)
      return
    }
    // A request beside a running one cannot know what that one leads to, and must not be taken for another device.
    const basedOn = this.#isSending ? undefined : this.#basedOn
    this.#isSending = true
    if (keepalive) this.#keep(sent)
    const request = this.#options.send(sent, { basedOn, keepalive })
    this.#running = Promise.allSettled([this.#running, request]).then(() => {})
    const answer = await request
    this.#isSending = false
    this.#options.onWaiting(answer.kind === 'later')
    if (answer.kind === 'later') {
      this.#addOwn(sent)
      this.#keep(this.#unsent ?? sent)
      if (!keepalive) this.#wait(RETRY_MS)
      return
    }
    this.#done(answer, sent)
  }

  #keep(sent: Sent): void {
    // Another tab sends it when the server is back, perhaps beside this recorder.
    this.#addOwn(sent)
    this.#options.keep({ sent, basedOn: this.#basedOn })
  }

  #addOwn(sent: Sent): void {
    this.#own = [...this.#own.filter((each) => each !== sent), sent].slice(-OWN_MAX)
  }

  #done(answer: Exclude<Answer<Elsewhere>, { kind: 'later' }>, sent: Sent): void {
    if (answer.kind === 'conflict') {
      const { elsewhere } = answer
      if (this.#own.some((each) => this.#options.isSamePlace(elsewhere, each))) {
        this.#own = []
        this.#basedOn = elsewhere.updatedAt
        this.#wait(0)
        return
      }
      this.#isAsking = true
      this.#options.onConflict(elsewhere)
      return
    }
    this.#own = [sent]
    if (answer.kind === 'recorded') this.#basedOn = answer.updatedAt
    else this.#options.onRefused(answer.sentence)
    this.#options.keep(null)
    if (this.#unsent === sent) this.#unsent = null
    else if (this.#unsent !== null) this.#wait(REST_MS)
  }
}
