import { readerTexts } from '#texts/reader.ts'
import { ReaderDialog } from '../shared/reader-dialog.tsx'

/** Asks before a link of a book contacts another site. */
export function LeaveDialog({ address, onClose }: { address: string; onClose(): void }) {
  return (
    <ReaderDialog title={readerTexts.leaveTitle({ host: new URL(address).host })} onClose={onClose}>
      <p>{readerTexts.leaveWords()}</p>
      <p className="mono leave-address" dir="ltr">
        {address}
      </p>
      <div className="actions">
        <button type="button" className="btn big" onClick={onClose}>
          {readerTexts.stayInBook()}
        </button>
        <a className="btn main big" href={address} target="_blank" rel="noopener noreferrer" onClick={onClose}>
          {readerTexts.leave()}
        </a>
      </div>
    </ReaderDialog>
  )
}
