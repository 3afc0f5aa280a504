/** What there is of a page. Bytes are null while the server has not said how many. */
export type PageState =
  | { kind: 'waiting' }
  | { kind: 'loading'; received: number; total: number | null }
  | { kind: 'decoded'; picture: HTMLImageElement }
  | { kind: 'broken'; sentence: string; requestId: string | null }

export interface WantedPage {
  page: number
  /** Of the picture, in pixels; undefined for the page as it is in the file. */
  width: number | undefined
}

/** Fetches a picture; reports bytes on the way. Throws what `explain` understands. */
export interface PageSource {
  fetch(wanted: WantedPage, options: { signal: AbortSignal; onBytes(received: number, total: number | null): void }): Promise<Blob>
  explain(error: unknown): { sentence: string; requestId: string | null }
}

/** Of the six connections that HTTP/1.1 gives to an origin; the others are for events, progress and covers. */
const FETCHES_MAX = 3

interface Entry {
  wanted: WantedPage
  state: PageState
  /** The picture of another width, shown until the new one is decoded. */
  address: string | null
  fetching: AbortController | null
}

const WAITING: PageState = { kind: 'waiting' }

/** Fetches and decodes the pages that are wanted, the most urgent first; forgets all others and aborts their requests. */
export class PageLoader {
  readonly #source: PageSource
  readonly #entries = new Map<number, Entry>()
  readonly #listeners = new Set<() => void>()
  #order: readonly WantedPage[] = []
  #urgent = 0

  constructor(source: PageSource) {
    this.#source = source
  }

  /** Arrows, because React calls them without their object. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly stateOf = (page: number): PageState => this.#entries.get(page)?.state ?? WAITING

  /** @param urgent how many of the pages come before all others; those are fetched only while none of these is missing */
  want(pages: readonly WantedPage[], urgent: number): void {
    this.#order = pages
    this.#urgent = urgent
    const kept = new Set(pages.map(({ page }) => page))
    for (const [page, entry] of this.#entries) if (!kept.has(page)) this.#forget(page, entry)
    for (const wanted of pages) {
      const entry = this.#entries.get(wanted.page)
      if (!entry) this.#entries.set(wanted.page, { wanted, state: WAITING, address: null, fetching: null })
      else if (isSharper(wanted, entry.wanted)) this.#refetch(entry, wanted)
    }
    this.#startNext()
  }

  retry(page: number): void {
    const entry = this.#entries.get(page)
    if (entry?.state.kind !== 'broken') return
    this.#set(entry, WAITING)
    this.#startNext()
  }

  /** Shows what the browser can decode of the file: a damaged picture cannot be made smaller by the server. */
  showAsIs(page: number): void {
    const entry = this.#entries.get(page)
    if (entry) entry.wanted = { page, width: undefined }
    this.retry(page)
  }

  retryAll(): void {
    for (const page of this.#entries.keys()) this.retry(page)
  }

  close(): void {
    for (const [page, entry] of this.#entries) this.#forget(page, entry)
    this.#order = []
  }

  #forget(page: number, entry: Entry): void {
    entry.fetching?.abort()
    if (entry.address) URL.revokeObjectURL(entry.address)
    this.#entries.delete(page)
  }

  #refetch(entry: Entry, wanted: WantedPage): void {
    entry.fetching?.abort()
    entry.fetching = null
    entry.wanted = wanted
  }

  #startNext(): void {
    let running = [...this.#entries.values()].filter(({ fetching }) => fetching !== null).length
    for (const [index, { page }] of this.#order.entries()) {
      if (running >= FETCHES_MAX || (index >= this.#urgent && running > 0)) return
      const entry = this.#entries.get(page)
      if (!entry || entry.fetching || !this.#lacksPicture(entry)) continue
      running++
      void this.#load(entry)
    }
  }

  #lacksPicture({ state, wanted }: Entry): boolean {
    return (
      state.kind === 'waiting' ||
      state.kind === 'loading' ||
      (state.kind === 'decoded' && state.picture.dataset['width'] !== nameOf(wanted))
    )
  }

  async #load(entry: Entry): Promise<void> {
    const fetching = new AbortController()
    entry.fetching = fetching
    try {
      const blob = await this.#source.fetch(entry.wanted, {
        signal: fetching.signal,
        onBytes: (received, total) => {
          if (entry.fetching === fetching && entry.state.kind !== 'decoded') this.#set(entry, { kind: 'loading', received, total })
        },
      })
      await this.#decode(entry, blob, fetching.signal)
    } catch (error) {
      if (fetching.signal.aborted) return
      entry.fetching = null
      // A sharper picture that fails is no reason to take the other away.
      if (entry.state.kind === 'decoded') entry.state.picture.dataset['width'] = nameOf(entry.wanted)
      else this.#set(entry, { kind: 'broken', ...this.#source.explain(error) })
    }
    this.#startNext()
    this.#tell()
  }

  async #decode(entry: Entry, blob: Blob, signal: AbortSignal): Promise<void> {
    const address = URL.createObjectURL(blob)
    const picture = new Image()
    picture.dataset['width'] = nameOf(entry.wanted)
    picture.draggable = false
    picture.src = address
    try {
      await picture.decode()
      signal.throwIfAborted()
    } catch (error) {
      URL.revokeObjectURL(address)
      throw error
    }
    if (entry.address) URL.revokeObjectURL(entry.address)
    entry.address = address
    entry.fetching = null
    this.#set(entry, { kind: 'decoded', picture })
  }

  #set(entry: Entry, state: PageState): void {
    entry.state = state
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

const nameOf = ({ width }: WantedPage): string => String(width ?? 'file')

/** Never to a smaller picture: it would be fetched again at the next zoom. */
const isSharper = (wanted: WantedPage, than: WantedPage): boolean =>
  than.width !== undefined && (wanted.width === undefined || wanted.width > than.width)
