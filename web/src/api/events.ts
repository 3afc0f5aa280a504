import { onlineManager, type Query } from '@tanstack/react-query'
import { SERVER_PATH } from '#api/client.ts'
import { queries } from '#api/queries.ts'
import { meQuery } from '#api/session.ts'

/** A hidden tab closes its stream after this time: HTTP/1.1 gives the server six connections for all tabs. */
const HIDDEN_MS = 30_000
/** Pages that are shown are asked for again at most this often. */
const REFRESH_MS = 1_000
/** A connection that breaks for a moment is not worth a word: the server ends each stream after a while, and the browser asks for another 3 s later. */
const LOST_MS = 5_000
/** After a refusal; the browser itself tries again only after broken connections. */
const RETRY_MS = 5_000

/** The types of events, and the first words of the keys of what they change. */
const CHANGES: Record<string, readonly string[]> = {
  book_created: ['book', 'series', 'libraries'],
  book_updated: ['book'],
  book_deleted: ['book', 'series', 'libraries'],
  series_created: ['series', 'libraries'],
  series_updated: ['series'],
  series_deleted: ['series', 'libraries'],
  series_metadata_updated: ['series'],
  series_bulk_purged: ['series', 'book', 'libraries'],
  cover_updated: ['book', 'series'],
  library_updated: ['libraries', 'library'],
  library_deleted: ['libraries', 'library', 'series', 'book'],
  collection_created: ['collection'],
  collection_updated: ['collection'],
  collection_deleted: ['collection'],
  read_list_created: ['read-list'],
  read_list_updated: ['read-list'],
  read_list_deleted: ['read-list'],
  progress_updated: ['book', 'series', 'readings'],
  progress_deleted: ['book', 'series', 'readings'],
  want_to_read_updated: ['want-to-read'],
  rating_updated: ['series', 'ratings'],
  recommendations_updated: ['recommendations'],
  scan_updated: ['scans', 'libraries'],
  scan_withheld: ['scans', 'libraries'],
  scan_files: [],
  task_updated: ['tasks'],
  queue_updated: [],
}

type Listener = (data: Record<string, unknown>) => void

let stream: EventSource | null = null
let lastEventId = ''
let closing = 0
let reopening = 0
let losing = 0
let refreshing = 0
let isLost = false
const changed = new Set<string>()
const listeners = new Map<string, Set<Listener>>()
const watchers = new Set<() => void>()
const returns = new Set<() => void>()

/** Whether the server can be reached, for useSyncExternalStore. */
export const connection = {
  subscribe(watcher: () => void): () => void {
    watchers.add(watcher)
    return () => void watchers.delete(watcher)
  },
  isLost: (): boolean => isLost,
  retry: (): void => open(),
}

/**
 * Calls the listener each time the server can be reached again, also after a moment for which nothing was said. `online` of the browser does not tell when
 * a server is back. Returns what ends that.
 */
export function onReturn(listener: () => void): () => void {
  returns.add(listener)
  return () => void returns.delete(listener)
}

/** Calls the listener for each event of a type, while this tab is visible. Returns what ends that. */
export function onEvent(type: string, listener: Listener): () => void {
  const known = listeners.get(type) ?? new Set()
  listeners.set(type, known.add(listener))
  return () => void known.delete(listener)
}

/** Follows the changes on the server, until the returned function is called. For the application, once somebody is signed in. */
export function followEvents(): () => void {
  const onVisible = () => {
    clearTimeout(closing)
    if (document.visibilityState === 'hidden') closing = window.setTimeout(close, HIDDEN_MS)
    else if (stream === null) open()
  }
  const onOnline = () => {
    if (document.visibilityState === 'visible') open()
  }
  document.addEventListener('visibilitychange', onVisible)
  addEventListener('online', onOnline)
  onVisible()
  return () => {
    document.removeEventListener('visibilitychange', onVisible)
    removeEventListener('online', onOnline)
    clearTimeout(closing)
    close()
    lastEventId = ''
    endPause()
    setLost(false)
  }
}

function open(): void {
  close()
  // A new EventSource cannot send the header Last-Event-ID.
  const after = lastEventId === '' ? '' : `?lastEventId=${encodeURIComponent(lastEventId)}`
  const opened = new EventSource(`${SERVER_PATH}/api/v1/events${after}`)
  stream = opened
  opened.addEventListener('open', reached)
  opened.addEventListener('error', () => onError(opened))
  for (const type of [...Object.keys(CHANGES), 'reload']) opened.addEventListener(type, (event) => receive(type, event))
}

function close(): void {
  stream?.close()
  stream = null
  clearTimeout(reopening)
}

/** There is a stream, which may be the first. */
function reached(): void {
  endPause()
  setLost(false)
  void queries.invalidateQueries({ predicate: ({ state }) => state.status === 'error' })
  for (const listener of returns) listener()
}

function onError(opened: EventSource): void {
  if (opened !== stream) return
  // Queries wait: what is shown would give way to the failure of the next answer.
  onlineManager.setOnline(false)
  // From the first error on: the browser tries again as often, and each attempt ends in another.
  if (losing === 0) losing = window.setTimeout(() => setLost(true), LOST_MS)
  // Only another request can tell why: it opens the dialog when the session has ended, and when it gets an answer, only the events are missing, as for
  // users who may not read libraries, and for a moment after the end of each stream.
  void queries.fetchQuery({ ...meQuery, staleTime: 0 }).then(
    () => (isLost ? reached() : endPause()),
    () => {},
  )
  if (opened.readyState !== EventSource.CLOSED) return
  clearTimeout(reopening)
  reopening = window.setTimeout(open, RETRY_MS)
}

function endPause(): void {
  clearTimeout(losing)
  losing = 0
  onlineManager.setOnline(true)
}

function receive(type: string, event: MessageEvent<string>): void {
  if (event.lastEventId !== '') lastEventId = event.lastEventId
  if (type === 'reload') {
    void queries.invalidateQueries()
    return
  }
  for (const noun of CHANGES[type] ?? []) changed.add(noun)
  if (changed.size > 0 && refreshing === 0) refreshing = window.setTimeout(refresh, REFRESH_MS)
  const called = listeners.get(type)
  if (!called?.size) return
  const data = JSON.parse(event.data) as Record<string, unknown>
  for (const listener of called) listener(data)
}

/** Only what is shown is asked for again; the rest when it is shown. */
function refresh(): void {
  refreshing = 0
  const nouns = [...changed]
  changed.clear()
  void queries.invalidateQueries({
    predicate: (query) => !isLong(query) && nouns.some((noun) => String(query.queryKey[0]).startsWith(noun)),
  })
}

/** Lists of what changes all the time say how many pages are asked for again. */
function isLong({ meta, state }: Query): boolean {
  const pages = (state.data as { pages?: unknown[] } | undefined)?.pages ?? []
  return pages.length > Number(meta?.['pagesMax'] ?? Number.POSITIVE_INFINITY)
}

function setLost(value: boolean): void {
  if (isLost === value) return
  isLost = value
  for (const watcher of watchers) watcher()
}
