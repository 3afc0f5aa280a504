import { useQuery } from '@tanstack/react-query'
import { CircleAlert, Clock } from 'lucide-react'
import { useState } from 'react'
import { type BookError, errorsOfBookQuery, isRot } from '#api/book-errors.ts'
import type { FullBookRecord } from '#api/records.ts'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { AcceptContent } from '#parts/works/accept-content.tsx'
import { adminTexts } from '#texts/admin.ts'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'
import { retry } from './book-actions.tsx'

/** What is wrong with the file of a book, if anything, and what to do. */
export function FileState({ book }: { book: FullBookRecord }) {
  const mayWrite = useMayDo('books-write')
  const [isAsking, setIsAsking] = useState(false)
  const errors = useQuery(errorsOfBookQuery(book.id)).data ?? []
  const state = stateOf(book, { errors, mayWrite })
  if (!state) return null
  return (
    <>
      <div className={`notice ${state.kind}`}>
        <Icon of={state.kind === 'bad' || state.reasons ? CircleAlert : Clock} />
        <p>
          <strong>{state.title}.</strong> {state.words && <bdi>{state.words}</bdi>}
        </p>
        {state.reasons
          ?.filter(({ message }) => message !== state.words)
          .map(({ errorType, message }) => (
            <p key={`${errorType} ${message}`}>
              {adminTexts[errorType]()}: <bdi>{message}</bdi>
            </p>
          ))}
        {state.hint && <p className="quiet">{state.hint}</p>}
        {mayWrite && (state.reasons || state.isRotten) && (
          <div className="line">
            <button type="button" className="btn" onClick={() => retry(book)}>
              {partTexts.retry()}
            </button>
            {state.isRotten && (
              <button type="button" className="btn" onClick={() => setIsAsking(true)}>
                {partTexts.accept()}
              </button>
            )}
          </div>
        )}
      </div>
      {isAsking && <AcceptContent book={book} onClose={() => setIsAsking(false)} />}
    </>
  )
}

interface State {
  kind: 'bad' | 'warn' | 'info'
  title: string
  words?: string
  reasons?: readonly BookError[]
  hint?: string
  isRotten?: boolean
}

function stateOf(
  { deleted, missing, analysisError, analyzed }: FullBookRecord,
  { errors, mayWrite }: { errors: readonly BookError[]; mayWrite: boolean },
): State | null {
  const hint = missing ? workTexts.missingSince({ when: timeWords(missing.since) }) : ''
  if (deleted) return { kind: 'warn', title: workTexts.gone(), words: workTexts.goneHint(), hint }
  if (missing) return { kind: 'warn', title: workTexts.withheld(), words: workTexts.withheldHint(), hint }
  if (errors.some(isRot))
    return { kind: 'bad', title: workTexts.rotten(), words: workTexts.rottenWords(), hint: workTexts.rottenHint(), isRotten: true }
  const hintOfBroken = workTexts.brokenHint()
  if (analysisError) return { kind: 'bad', title: workTexts.broken(), words: analysisError, reasons: errors, hint: hintOfBroken }
  // The book can be read; who cannot change it needs no more.
  if (mayWrite && errors.length > 0) return { kind: 'warn', title: workTexts.partlyBroken(), reasons: errors, hint: hintOfBroken }
  if (!analyzed) return { kind: 'info', title: workTexts.notAnalyzed(), words: workTexts.notAnalyzedHint() }
  return null
}
