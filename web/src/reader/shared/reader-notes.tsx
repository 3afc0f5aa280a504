import { EyeOff } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import type { Recording } from './use-recorder.ts'

interface NotesProps {
  recording: Recording<unknown>
  isIncognito: boolean
  /** Why a bookmark could not be changed. */
  unmarked: string | null
}

/** Small words over the foot of a page: that nothing is recorded, or why. */
export function ReaderNotes({ recording, isIncognito, unmarked }: NotesProps) {
  return (
    <div className="float-foot" role="status">
      {isIncognito && (
        <span className="incognito" title={readerTexts.incognitoHint()}>
          <Icon of={EyeOff} />
          {readerTexts.incognito()}
        </span>
      )}
      {recording.refused !== null && <span className="pagechip">{readerTexts.notRecorded({ reason: recording.refused })}</span>}
      {unmarked !== null && <span className="pagechip">{readerTexts.bookmarkRefused({ reason: unmarked })}</span>}
      {recording.isWaiting && <span className="pagechip">{readerTexts.waiting()}</span>}
    </div>
  )
}
