import { api, ask } from '#api/client.ts'
import type { Answer, BasedOn } from '../shared/progress-recorder.ts'
import { answerOfRefusal } from '../shared/refusal.ts'
import type { SentPage } from './page-turns.ts'

/** Where the user read on another device. */
export interface PageElsewhere {
  page: number
  updatedAt: string
}

/** Records a page. */
export async function sendPage(
  bookId: string,
  { page, isCompleted }: SentPage,
  { basedOn, keepalive }: { basedOn: BasedOn; keepalive: boolean },
): Promise<Answer<PageElsewhere>> {
  try {
    const body = { currentPage: page, ...(isCompleted && { completed: true }), ...(basedOn !== undefined && { basedOn }) }
    const recorded = await ask(api.PUT('/api/v1/books/{bookId}/progress', { params: { path: { bookId } }, body, keepalive }))
    return { kind: 'recorded', updatedAt: recorded.updatedAt }
  } catch (error) {
    return answerOfRefusal(error, readElsewhere)
  }
}

function readElsewhere(details: unknown): PageElsewhere | null {
  const { progress } = (details ?? {}) as { progress?: Record<string, unknown> | null }
  const { currentPage, updatedAt } = progress ?? {}
  return typeof currentPage === 'number' && typeof updatedAt === 'string' ? { page: currentPage, updatedAt } : null
}
