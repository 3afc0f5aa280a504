import { ImageOff, RotateCw } from 'lucide-react'
import type { Problem } from '#api/problem.ts'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'

/** In place of a chapter that cannot be loaded: why. Turning goes on to the next. */
export function ChapterProblem({ problem, onRetry }: { problem: Problem | null; onRetry(): void }) {
  if (!problem) return null
  return (
    <section className="slot broken chapter-problem" role="alert">
      <Icon of={ImageOff} />
      <h2>{readerTexts.chapterBroken()}</h2>
      <p>{problem.message}</p>
      <div className="line">
        <button type="button" className="btn" onClick={onRetry}>
          <Icon of={RotateCw} />
          {readerTexts.retry()}
        </button>
      </div>
      {problem.requestId && <p className="tiny">{readerTexts.request({ id: problem.requestId })}</p>}
    </section>
  )
}
