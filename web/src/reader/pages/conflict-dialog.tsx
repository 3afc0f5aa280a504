import { ArrowRight } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { whenLabel } from '../shared/labels.ts'
import { ReaderDialog } from '../shared/reader-dialog.tsx'
import type { PageElsewhere } from './page-progress.ts'
import { pageAddress } from './page-source.ts'
import type { OpenedPages } from './use-page-view.ts'

interface ConflictProps {
  book: OpenedPages['book']
  here: number
  elsewhere: PageElsewhere
  onChoose(choice: 'mine' | 'theirs'): void
}

const PREVIEW_WIDTH = 320

/** Asks which of two places of the same book holds. */
export function ConflictDialog({ book, here, elsewhere, onChoose }: ConflictProps) {
  const when = whenLabel(elsewhere.updatedAt, Date.now())
  return (
    <ReaderDialog
      title={readerTexts.conflictTitle({ page: elsewhere.page })}
      className="dialog conflict"
      isLow
      onClose={() => onChoose('mine')}
    >
      <p className="quiet">{readerTexts.conflictWords({ page: elsewhere.page, when })}</p>
      <div className="compare">
        <PlaceOf book={book} page={here} words={readerTexts.here()} />
        <Icon of={ArrowRight} flips />
        <PlaceOf book={book} page={elsewhere.page} words={readerTexts.elsewhere({ when })} />
      </div>
      <div className="actions">
        <button type="button" className="btn big" onClick={() => onChoose('mine')}>
          {readerTexts.stayAt({ page: here })}
        </button>
        <button type="button" className="btn main big" onClick={() => onChoose('theirs')}>
          {readerTexts.continueAt({ page: elsewhere.page })}
        </button>
      </div>
    </ReaderDialog>
  )
}

function PlaceOf({ book, page, words }: { book: OpenedPages['book']; page: number; words: string }) {
  return (
    <div className="place">
      <span className="pics">
        <img src={pageAddress(book.id, book.fileHash, { page, width: PREVIEW_WIDTH })} alt="" />
      </span>
      <b>{readerTexts.page({ page })}</b>
      <small>{words}</small>
    </div>
  )
}
