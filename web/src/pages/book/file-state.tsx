import { CircleAlert, Clock } from 'lucide-react'
import type { FullBookRecord } from '#api/records.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'
import { retry } from './book-actions.tsx'

/** What is wrong with the file of a book, if anything, and what to do. */
export function FileState({ book }: { book: FullBookRecord }) {
  const mayWrite = useMayDo('books-write')
  const state = stateOf(book)
  if (!state) return null
  return (
    <div className={`notice ${state.kind}`}>
      <Icon of={state.kind === 'bad' ? CircleAlert : Clock} />
      <p>
        <strong>{state.title}.</strong> <bdi>{state.words}</bdi>
      </p>
      {state.hint && <p className="quiet">{state.hint}</p>}
      {mayWrite && book.analysisError && (
        <div className="line">
          <button type="button" className="btn" onClick={() => retry(book)}>
            {partTexts.retry()}
          </button>
        </div>
      )}
    </div>
  )
}

function stateOf({ deleted, analysisError, analyzed }: FullBookRecord) {
  if (deleted) return { kind: 'warn', title: workTexts.gone(), words: workTexts.goneHint(), hint: null }
  if (analysisError) return { kind: 'bad', title: workTexts.broken(), words: analysisError, hint: workTexts.brokenHint() }
  if (!analyzed) return { kind: 'info', title: workTexts.notAnalyzed(), words: workTexts.notAnalyzedHint(), hint: null }
  return null
}
