import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { api, ask } from '#api/client.ts'
import { readerTexts } from '#texts/reader.ts'
import { tapAction } from '../pages/page-rules.ts'
import { EndCard } from '../shared/end-card.tsx'
import { KeySheet } from '../shared/key-sheet.tsx'
import { ReaderMessage } from '../shared/reader-message.tsx'
import { ReaderNotes } from '../shared/reader-notes.tsx'
import { useLevels } from '../shared/use-levels.ts'
import { useNeighbors } from '../shared/use-neighbors.ts'
import { useReaderAddress } from '../shared/use-reader-address.ts'
import { ContentsDrawer } from './contents-drawer.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import { type Note, NotePopover } from './note-popover.tsx'
import { SearchDrawer } from './search-drawer.tsx'
import { TextBars } from './text-bars.tsx'
import { textBookOf } from './text-book.ts'
import { TextConflictDialog } from './text-conflict-dialog.tsx'
import { textKeys } from './text-keys.ts'
import { type BookMap, isBookEnd } from './text-locator.ts'
import { flattenContents, spanChapters } from './text-map.ts'
import type { TextPanel } from './text-panel.ts'
import { TEXT_DEFAULTS } from './text-settings.ts'
import { TextSettingsPanel } from './text-settings-panel.tsx'
import { useTextActions } from './use-text-actions.ts'
import { useTextRecorder } from './use-text-recorder.ts'
import { type OpenedText, useTextView } from './use-text-view.ts'
import { chapterTitle, positionsOf, useWhereabouts } from './whereabouts.ts'
import './text-reader.css'

/** Loads what places in the book are computed from, then shows it. */
export default function TextReader({ opened }: { opened: OpenedText }) {
  const { book } = opened
  const positions = useQuery({
    queryKey: ['reading', book.id, 'positions'],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/{bookId}/positions', { params: { path: { bookId: book.id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (positions.error) return <ReaderMessage bookId={book.id} problem={positions.error} onRetry={() => void positions.refetch()} />
  if (!positions.data) return <ReaderMessage bookId={book.id} />
  return <OpenedReader opened={opened} positions={positionsOf(positions.data)} />
}

interface ReaderProps {
  opened: OpenedText
  positions: ReturnType<typeof positionsOf>
}

function useMap({ opened, positions }: ReaderProps): BookMap {
  const { book, manifest } = opened
  const textBook = useMemo(() => textBookOf(book, manifest), [book, manifest])
  return useMemo(() => ({ book: textBook, spans: spanChapters(textBook.hrefs, positions), count: positions.length }), [textBook, positions])
}

function useTextControls({ opened, positions }: ReaderProps) {
  const { book, manifest } = opened
  const map = useMap({ opened, positions })
  const host = useRef<HTMLDivElement>(null)
  const address = useReaderAddress()
  const [panel, setPanel] = useState<TextPanel>(null)
  const [hasBars, setBars] = useState(true)
  const [leaving, setLeaving] = useState<string | null>(null)
  const [note, setNote] = useState<Note | null>(null)
  const [isEnded, setEnded] = useState(false)
  const neighbors = useNeighbors(book, address.search)
  // What the package does not say, the first chapter shows.
  const [isLeftwards, setLeftwards] = useState(map.book.dir === 'rtl')
  const direction: 'ltr' | 'rtl' = isLeftwards ? 'rtl' : 'ltr'
  const levels = useLevels({ kind: 'text', defaults: TEXT_DEFAULTS, initial: opened.levels, bookId: book.id, seriesId: book.seriesId })
  const contents = useMemo(() => flattenContents(manifest.toc ?? [], readerTexts.untitled()), [manifest])
  const seriesHref = `/series/${book.seriesId}`
  const turn = (by: 1 | -1) => {
    setBars(false)
    setNote(null)
    if (by === 1 && reading.place && isBookEnd(map.book, reading.place)) setEnded(true)
    else void reading.view?.turn(by)
  }
  const goToEnd = (end: 'first' | 'last') =>
    void reading.view?.goTo(end === 'first' ? 0 : map.book.sections.length - 1, end === 'first' ? 0 : 1)
  const keys = useTextActions({ address, panel, setPanel, hasBars, setBars, seriesHref, turn, direction, goToEnd, neighbors })
  const actions = {
    tapped(fraction: number) {
      setNote(null)
      const action = levels.settings.flow === 'scroll' ? 'bars' : tapAction(fraction, direction)
      if (action === 'bars') setBars(!hasBars)
      else turn(action === 'next' ? 1 : -1)
    },
    followed: setLeaving,
    noted: (element: Element, at: DOMRect) => setNote({ text: element.textContent ?? '', at }),
    keyed: keys.handle,
    loaded(doc: Document) {
      setNote(null)
      nameDocument(doc, opened)
      if (map.book.dir === undefined) setLeftwards(readsLeftwards(doc))
    },
  }
  const reading = useTextView(opened, { host, map, settings: levels.settings, actions })
  useEffect(() => {
    if (reading.place?.isSwipe) setBars(false)
  }, [reading.place])
  const where = useWhereabouts({ map, contents, place: reading.place })
  const recording = useTextRecorder(opened, { map, place: reading.place, isIncognito: address.isIncognito })
  const over = { panel, setPanel, note, setNote, leaving, setLeaving, isEnded, setEnded, neighbors }
  return { ...over, opened, host, map, address, hasBars, direction, levels, contents, seriesHref, turn, reading, where, recording }
}

function OpenedReader(props: ReaderProps) {
  const controls = useTextControls(props)
  const { opened, host, map, address, panel, hasBars, levels, seriesHref, turn, reading, where, recording } = controls
  const { book } = opened
  const { settings } = levels
  if (reading.problem) return <ReaderMessage bookId={book.id} problem={reading.problem} />
  return (
    <main className="reader" data-bars={hasBars ? 'shown' : 'hidden'}>
      <article className={panel === 'settings' ? 'ebook beside' : 'ebook'} data-read={settings.paper}>
        <header className="ebook-head">
          <p dir="auto">{book.title}</p>
          <p dir="auto">{where.chapter}</p>
        </header>
        <div className="ebook-place" ref={host} />
        <footer className="ebook-foot">
          <p>{where.pageWords}</p>
          <p>{where.percent}</p>
        </footer>
      </article>
      {settings.flow === 'scroll' && reading.place?.isChapterEnd && where.hasNext && (
        <div className="float-foot">
          <button type="button" className="btn" onClick={() => turn(1)}>
            {readerTexts.toNextChapter()}
          </button>
        </div>
      )}
      <TextBars {...{ opened, where, map, panel, seriesHref }} setPanel={controls.setPanel} view={reading.view} />
      <ReaderNotes recording={recording} isIncognito={address.isIncognito} />
      <Overlays controls={controls} />
    </main>
  )
}

/** What lies over the text: panels, notes, questions. */
function Overlays({ controls }: { controls: ReturnType<typeof useTextControls> }) {
  const { map, panel, note, leaving, levels, contents, direction, reading, where, recording } = controls
  const { view } = reading
  const close = () => controls.setPanel(null)
  const choose = (choice: 'mine' | 'theirs') => {
    if (choice === 'theirs' && recording.conflict) reading.goToLocator(recording.conflict.locator)
    recording.settle(choice)
  }
  return (
    <>
      {panel === 'settings' && <TextSettingsPanel of={levels} isFixed={view?.isFixed ?? false} onClose={close} />}
      {panel === 'contents' && <ContentsDrawer {...{ contents, where, map, view }} onClose={close} />}
      {panel === 'search' && (
        <SearchDrawer {...{ map, view }} titleOf={(index) => chapterTitle(contents, { map, index })} onClose={close} />
      )}
      {panel === 'keys' && <KeySheet groups={textKeys(direction)} onClose={close} />}
      {note && <NotePopover note={note} onClose={() => controls.setNote(null)} />}
      {leaving !== null && <LeaveDialog address={leaving} onClose={() => controls.setLeaving(null)} />}
      {controls.isEnded && (
        <EndCard
          book={controls.opened.book}
          next={controls.neighbors.next}
          stay={readerTexts.stayInBook()}
          isIncognito={controls.address.isIncognito}
          onStay={() => controls.setEnded(false)}
        />
      )}
      {recording.conflict && <TextConflictDialog elsewhere={recording.conflict} onChoose={choose} />}
    </>
  )
}

/** The language of a chapter that names none: for hyphens and the forms of Han letters. */
function nameDocument(doc: Document, { manifest }: OpenedText): void {
  const { language } = manifest.metadata
  const first: unknown = Array.isArray(language) ? language[0] : language
  if (typeof first === 'string') doc.documentElement.lang ||= first
}

/** Whether pages of a chapter follow each other to the left. */
function readsLeftwards(doc: Document): boolean {
  const style = doc.defaultView?.getComputedStyle(doc.body ?? doc.documentElement)
  return style?.writingMode === 'vertical-rl' || style?.direction === 'rtl'
}
