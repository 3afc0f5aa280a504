import { readerTexts } from '#texts/reader.ts'
import { percentLabel, whenLabel } from '../shared/labels.ts'
import { ReaderDialog } from '../shared/reader-dialog.tsx'
import type { TextElsewhere } from './text-progress.ts'

interface ConflictProps {
  elsewhere: TextElsewhere
  onChoose(choice: 'mine' | 'theirs'): void
}

/** Asks which of two places of the same text holds. */
export function TextConflictDialog({ elsewhere, onChoose }: ConflictProps) {
  const percent = percentLabel(elsewhere.locator.locations?.totalProgression ?? 0)
  const when = whenLabel(elsewhere.updatedAt, Date.now())
  return (
    <ReaderDialog title={readerTexts.conflictTextTitle()} className="dialog conflict" isLow onClose={() => onChoose('mine')}>
      <p className="quiet">{readerTexts.conflictTextWords({ percent, when, device: elsewhere.device || readerTexts.otherDevice() })}</p>
      <div className="actions">
        <button type="button" className="btn big" onClick={() => onChoose('mine')}>
          {readerTexts.stayHere()}
        </button>
        <button type="button" className="btn main big" onClick={() => onChoose('theirs')}>
          {readerTexts.continueThere()}
        </button>
      </div>
    </ReaderDialog>
  )
}
