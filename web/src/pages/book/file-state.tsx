import { useQuery } from '@tanstack/react-query'
import { CircleAlert, Clock } from 'lucide-react'
import { useState } from 'react'
import { isRot, otherErrorsQuery } from '#api/book-errors.ts'
import type { FullBookRecord } from '#api/records.ts'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { AcceptContent } from '#parts/works/accept-content.tsx'
import { partTexts } from '#texts/parts.ts'
import { workTexts } from '#texts/works.ts'
import { retry } from './book-actions.tsx'

/** What is wrong with the file of a book, if anything, and what to do. */
export function FileState({ book }: { book: FullBookRecord }) {
  const mayWrite = useMayDo('books-write')
  const [isAsking, setIsAsking] = useState(false)
  const state = stateOf(book, useHasRotted(book))
  if (!state) return null
  return (
    <>
      <div className={`notice ${state.kind}`}>
        <Icon of={state.kind === 'bad' ? CircleAlert : Clock} />
        <p>
          <strong>{state.title}.</strong> <bdi>{state.words}</bdi>
        </p>
        {state.hint && <p className="quiet">{state.hint}</p>}
        {mayWrite && (book.analysisError || state.isRotten) && (
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

function useHasRotted({ id, seriesId }: FullBookRecord): boolean {
  const books = useQuery(otherErrorsQuery(seriesId)).data?.groups.flatMap((group) => group.books) ?? []
  return books.some(({ book, errors }) => book.id === id && errors.some(isRot))
}

interface State {
  kind: 'bad' | 'warn' | 'info'
  title: string
  words: string
  hint?: string
  isRotten?: boolean
}

function stateOf({ deleted, missing, analysisError, analyzed }: FullBookRecord, hasRotted: boolean): State | null {
  const hint = missing ? workTexts.missingSince({ when: timeWords(missing.since) }) : ''
  if (deleted) return { kind: 'warn', title: workTexts.gone(), words: workTexts.goneHint(), hint }
  if (missing) return { kind: 'warn', title: workTexts.withheld(), words: workTexts.withheldHint(), hint }
  if (hasRotted)
    return { kind: 'bad', title: workTexts.rotten(), words: workTexts.rottenWords(), hint: workTexts.rottenHint(), isRotten: true }
  if (analysisError) return { kind: 'bad', title: workTexts.broken(), words: analysisError, hint: workTexts.brokenHint() }
  if (!analyzed) return { kind: 'info', title: workTexts.notAnalyzed(), words: workTexts.notAnalyzedHint() }
  return null
}
