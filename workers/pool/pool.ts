import { availableParallelism } from 'node:os'
import type { DrawCover } from '#core/covers/cover.ts'
import {
  type Analyze,
  type DrawBookCover,
  type ExtractRar,
  failedAnalysis,
  type PageOutcome,
  type PageRefusal,
  type Problem,
  type ReadRarPage,
  type ReadZipPage,
  type RenderPdfPage,
  type ResizeImage,
} from '#core/fields/analysis.ts'
import type { ReadSeriesFile } from '#core/fields/series-file.ts'
import { BufferPool } from '#core/foundation/buffer-pool.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import type { CleanChapter, OpenZipEntry, ReadPublication } from '#core/reading/publication.ts'
import type { ReadReadingList } from '#core/shelves/reading-list.ts'
import type { DrawPdfPage } from '../drawing.ts'
import type * as Analyses from '../formats/analyze.ts'
import type * as Chapters from '../formats/epub/clean-chapter.ts'
import type * as Publications from '../formats/epub/publication.ts'
import { OpenFiles } from '../formats/open-files.ts'
import { unpackAnalysis } from '../formats/packed-analysis.ts'
import type * as RarPages from '../formats/rar/rar-page.ts'
import { zipPageReader } from '../formats/zip/zip-page.ts'
import { zipEntryOpener } from '../formats/zip-entry.ts'
import { CheckedEntries } from '../formats/zip-read.ts'
import { COVER_LONGEST_SIDE, drawCover, isCoverKind, resizePicture } from '../images/image.ts'
import { makePlain } from '../images/plain-picture.ts'
import { DRAWING_MS_MAX, PAGE_BUFFERS } from '../limits.ts'
import type * as ReadingLists from '../metadata/reading-list.ts'
import type * as Sidecars from '../metadata/sidecars.ts'
import { ChildPool } from './child-pool.ts'
import { exportsOf } from './job.ts'
import { ThreadPool } from './thread-pool.ts'

interface PoolOptions {
  /** Analyses at a time. Pages have their own threads, so that reading continues during a scan. */
  threads: number
  /** JavaScript heap per thread. File contents are outside it; the limits on entries bound them. */
  memoryMbMax: number
  /** From the start of the work in a thread, not from the request. A page drawn for a user has its own limit of at most half a minute. */
  deadlineMs: number
}

export interface ReaderPool {
  /** Starts the threads that analyses will need: each takes 0.2 s. */
  prepareAnalyses(): void
  analyze: Analyze
  readZipPage: ReadZipPage
  readRarPage: ReadRarPage
  extractRar: ExtractRar
  renderPdfPage: RenderPdfPage
  resizeImage: ResizeImage
  drawCover: DrawCover
  drawBookCover: DrawBookCover
  readReadingList: ReadReadingList
  readSeriesFile: ReadSeriesFile
  readPublication: ReadPublication
  openZipEntry: OpenZipEntry
  cleanChapter: CleanChapter
  /** Whether threads and children can work now; false after close. After losses, the call tries to start them again. */
  healthy(): boolean
  /** Waits at most two seconds for running work, then terminates it. */
  close(): Promise<void>
}

// The functions for threads.
const analyses = exportsOf<typeof Analyses>(new URL('../formats/analyze.ts', import.meta.url))
const rarPages = exportsOf<typeof RarPages>(new URL('../formats/rar/rar-page.ts', import.meta.url))
const publications = exportsOf<typeof Publications>(new URL('../formats/epub/publication.ts', import.meta.url))
const chapters = exportsOf<typeof Chapters>(new URL('../formats/epub/clean-chapter.ts', import.meta.url))
const sidecars = exportsOf<typeof Sidecars>(new URL('../metadata/sidecars.ts', import.meta.url))
const readingLists = exportsOf<typeof ReadingLists>(new URL('../metadata/reading-list.ts', import.meta.url))

/** At least two: an endless page leaves room for other books. */
const PAGES_DRAWN_MIN = 2

/**
 * Threads and processes for everything that reads hostile bytes. A file that takes too long or too much memory costs its thread or process,
 * which is replaced, and gets an ordinary problem; nothing else is affected.
 */
export function openPool(options: PoolOptions): ReaderPool {
  const readers = Math.max(1, Math.floor(options.threads / 2))
  const children = new ChildPool({
    // Covers have places of their own: pages are read during a scan.
    places: { pages: Math.max(PAGES_DRAWN_MIN, readers), covers: options.threads },
    heapMbMax: options.memoryMbMax,
    deadlineMs: Math.min(options.deadlineMs, DRAWING_MS_MAX),
    coverDeadlineMs: options.deadlineMs,
  })
  const threads = new ThreadPool({
    ...options,
    program: new URL('./thread.ts', import.meta.url),
    maxThreads: options.threads + readers,
    draw: (request, drawing) => children.draw(request, drawing),
  })
  const files = new OpenFiles()
  const checked = new CheckedEntries()
  return {
    ...booksIn(threads, new Semaphore(options.threads)),
    prepareAnalyses: () => {
      const prepare = () => threads.run(analyses('prepareAnalyses'), null, undefined, () => {})
      // If they cannot start, the first analyses say so.
      for (let thread = 0; thread < options.threads; thread++) prepare().catch(() => {})
    },
    ...readsIn(threads, new Semaphore(readers)),
    ...picturesBy(children, new Semaphore(availableParallelism())),
    readZipPage: zipPageReader(files, checked, new BufferPool(PAGE_BUFFERS)),
    openZipEntry: zipEntryOpener(files, checked),
    // Call both: the call makes each try again.
    healthy: () => [threads.healthy(), children.healthy()].every((healthy) => healthy),
    async close() {
      await Promise.all([threads.close(), children.close()])
      await files.close()
    },
  }
}

/** Work on whole books. Covers and analyses share one queue, and may use all threads for both. */
const booksIn = (threads: ThreadPool, places: Semaphore): Pick<ReaderPool, 'analyze' | 'drawBookCover'> => ({
  analyze: (request, { signal } = {}) =>
    places.run(
      async () => unpackAnalysis(await threads.run(analyses('analyzePacked'), request, signal, (problem) => failedAnalysis(problem))),
      signal,
    ),
  drawBookCover: (request, { signal } = {}) =>
    places.run(() => threads.run(analyses('drawBookCover'), request, signal, (problem) => ({ cover: null, problem })), signal),
})

/** Work that users wait for. */
const readsIn = (
  threads: ThreadPool,
  places: Semaphore,
): Pick<ReaderPool, 'readRarPage' | 'extractRar' | 'readReadingList' | 'readSeriesFile' | 'readPublication' | 'cleanChapter'> => ({
  readRarPage: (request, { signal } = {}) => places.run(() => threads.run(rarPages('readRarPage'), request, signal, pageRefusal), signal),
  extractRar: (request, { signal } = {}) =>
    places.run(() => threads.run(rarPages('extractRarPages'), request, signal, (problem) => problem), signal),
  // A malicious file can take seconds to parse.
  readReadingList: (bytes) =>
    places.run(() => threads.run(readingLists('readReadingList'), bytes, undefined, ({ message }) => ({ refused: message }))),
  readSeriesFile: (request, { signal } = {}) =>
    places.run(() => threads.run(sidecars('readSeriesFile'), request, signal, (problem) => ({ series: null, problem })), signal),
  readPublication: (request, { signal } = {}) =>
    places.run(() => threads.run(publications('readPacked'), request, signal, (problem) => ({ problem })), signal),
  cleanChapter: (request, { signal } = {}) =>
    places.run(() => threads.run(chapters('cleanChapter'), request, signal, (problem) => ({ problem })), signal),
})

/** Draws and resizes pages and covers. */
function picturesBy(children: ChildPool, resizes: Semaphore): Pick<ReaderPool, 'renderPdfPage' | 'resizeImage' | 'drawCover'> {
  const draw: DrawPdfPage = (request) => children.draw(request)
  return {
    renderPdfPage: async (request, { signal, isExtra } = {}) => {
      const outcome = await children.draw({ ...request, purpose: 'page' }, { signal, isExtra })
      const { drawnMs = 0 } = outcome
      return 'problem' in outcome ? outcome : { bytes: outcome.jpeg, mediaType: 'image/jpeg', drawnMs }
    },
    // Plain ones in this process: libvips has its own threads, and no picture is copied between heaps.
    resizeImage: async (request) => {
      const plain = await makePlain(request.bytes, { width: request.width, purpose: 'page' }, draw)
      if ('problem' in plain) return pageRefusal({ ...plain.problem, type: 'page_extraction' })
      return resizes.run(() => resizePicture({ ...request, bytes: plain.bytes }))
    },
    drawCover: async (bytes) => {
      if (!isCoverKind(bytes)) return { refused: 'kind' }
      const plain = await makePlain(bytes, { width: COVER_LONGEST_SIDE, height: COVER_LONGEST_SIDE, purpose: 'page' }, draw)
      return 'problem' in plain ? { refused: 'damaged' } : resizes.run(() => drawCover(plain.bytes))
    },
  }
}

const pageRefusal = (problem: Problem): PageOutcome => ({ problem: { ...problem, fatal: false } }) satisfies PageRefusal
