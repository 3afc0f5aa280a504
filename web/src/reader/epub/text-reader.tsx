import { useQuery } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { Late } from '#parts/loading.tsx'
import { readerTexts } from '#texts/reader.ts'
import { EndCard } from '../shared/end-card.tsx'
import { KeySheet } from '../shared/key-sheet.tsx'
import { ReaderMessage, TextBones } from '../shared/reader-message.tsx'
import { ReaderNotes } from '../shared/reader-notes.tsx'
import { ChapterProblem } from './chapter-problem.tsx'
import { ContentsDrawer } from './contents-drawer.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import { MarkCard } from './mark-card.tsx'
import { MarkMenu } from './mark-menu.tsx'
import { NotePopover } from './note-popover.tsx'
import { PictureView } from './picture-view.tsx'
import { SearchDrawer } from './search-drawer.tsx'
import { TextBars } from './text-bars.tsx'
import { TextConflictDialog } from './text-conflict-dialog.tsx'
import { textKeys } from './text-keys.ts'
import { TextSettingsPanel } from './text-settings-panel.tsx'
import { type TextControls, type TextReaderProps, useTextControls } from './use-text-controls.ts'
import type { OpenedText } from './use-text-view.ts'
import { chapterTitle, positionsOf } from './whereabouts.ts'
import './text-reader.css'
import './marks.css'

/** Loads what places in the book are computed from, then shows it. */
export default function TextReader({ opened }: { opened: OpenedText }) {
  const { book } = opened
  const positions = useQuery({
    queryKey: ['reading', book.id, 'positions'],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/books/{bookId}/positions', { params: { path: { bookId: book.id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const { data, error } = positions
  if (data) return <OpenedReader opened={opened} positions={positionsOf(data)} />
  return <ReaderMessage bookId={book.id} title={book.title} {...(error && { problem: error, onRetry: () => void positions.refetch() })} />
}

function OpenedReader(props: TextReaderProps) {
  const controls = useTextControls(props)
  const { over, opened, host, map, address, levels, seriesHref, turn, reading, where, recording } = controls
  const { panel, hasBars } = over
  const { book } = opened
  const { settings } = levels
  if (reading.problem) return <ReaderMessage bookId={book.id} title={book.title} problem={reading.problem} onRetry={reading.openAgain} />
  return (
    <main className="reader" data-bars={hasBars ? 'shown' : 'hidden'}>
      <article className={panel === 'settings' ? 'ebook beside' : 'ebook'} data-read={settings.paper}>
        <header className="ebook-head">
          <p dir="auto">{book.title}</p>
          <p dir="auto">{where.chapter}</p>
        </header>
        <div className="ebook-place" ref={host} />
        {!reading.place && (
          <Late>
            <div className="ebook-wait">
              <TextBones />
            </div>
          </Late>
        )}
        {reading.place && <ChapterProblem problem={map.book.sections[reading.place.index]?.problem ?? null} onRetry={reading.openAgain} />}
        <footer className="ebook-foot">
          <p>{where.pageWords}</p>
          <p>{controls.timeLeft.chapter}</p>
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
      <TextBars
        {...{ opened, where, map, panel, seriesHref }}
        bookmarks={controls.bookmarks}
        setPanel={over.setPanel}
        view={reading.view}
      />
      <ReaderNotes recording={recording} isIncognito={address.isIncognito} unmarked={unmarkedOf(controls)} />
      <Overlays controls={controls} />
    </main>
  )
}

/** What lies over the text: panels, notes, questions. */
function Overlays({ controls }: { controls: TextControls }) {
  const { over, opened, map, levels, contents, direction, reading, where, recording, bookmarks, highlights } = controls
  const { panel, note, leaving, picture } = over
  const { view } = reading
  const close = () => over.setPanel(null)
  const choose = (choice: 'mine' | 'theirs') => {
    if (choice === 'theirs' && recording.conflict) reading.goToLocator(recording.conflict.locator, { isTurn: false })
    recording.settle(choice)
  }
  return (
    <>
      {panel === 'settings' && <TextSettingsPanel of={levels} isFixed={view?.isFixed ?? false} onClose={close} />}
      {panel === 'contents' && (
        <ContentsDrawer
          {...{ opened, contents, where, map, view, bookmarks, highlights }}
          timeLeft={controls.timeLeft}
          onFollow={reading.goToLocator}
          onClose={close}
        />
      )}
      {panel === 'search' && (
        <SearchDrawer
          {...{ map, view }}
          start={over.query}
          titleOf={(index) => chapterTitle(contents, { map, index })}
          onClose={() => {
            over.setQuery('')
            close()
          }}
        />
      )}
      <MarkOverlays controls={controls} />
      {picture && <PictureView picture={picture} onClose={() => over.setPicture(null)} />}
      {panel === 'keys' && <KeySheet groups={textKeys(direction)} onClose={close} />}
      {note && <NotePopover note={note} onClose={() => over.setNote(null)} />}
      {leaving !== null && <LeaveDialog address={leaving} onClose={() => over.setLeaving(null)} />}
      {over.isEnded && (
        <EndCard
          book={opened.book}
          neighbors={controls.neighbors}
          stay={readerTexts.stayInBook()}
          isIncognito={controls.address.isIncognito}
          forget={recording.forget}
          onStay={() => over.setEnded(false)}
        />
      )}
      {recording.conflict && <TextConflictDialog elsewhere={recording.conflict} onChoose={choose} />}
    </>
  )
}

/** Why a bookmark or highlight could not be changed; an open highlight says it itself. */
const unmarkedOf = ({ bookmarks, highlights }: TextControls): string | null =>
  bookmarks.refused ?? (highlights.open ? null : highlights.refused)

/** The menu of selected words, or the highlight that is open. */
function MarkOverlays({ controls: { over, highlights } }: { controls: TextControls }) {
  const { selection, setSelection, open } = highlights
  const highlight = open && highlights.list.find(({ id }) => id === open.id)
  if (highlight) return <MarkCard key={highlight.id} highlight={highlight} at={open.at} highlights={highlights} />
  if (!selection) return null
  const search = (words: string) => {
    setSelection(null)
    over.setQuery(words)
    over.setPanel('search')
  }
  return <MarkMenu selection={selection} onMark={highlights.mark} onSearch={search} onClose={() => setSelection(null)} />
}
