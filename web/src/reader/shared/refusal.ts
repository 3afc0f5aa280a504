import { Problem } from '#api/problem.ts'
import type { Answer } from './progress-recorder.ts'

/** What became of a place that was not recorded. @param readElsewhere reads the place of another device from a conflict; null where it names none */
export function answerOfRefusal<Elsewhere>(error: unknown, readElsewhere: (details: unknown) => Elsewhere | null): Answer<Elsewhere> {
  if (!(error instanceof Problem)) throw error
  const elsewhere = error.status === 409 ? readElsewhere(error.details) : null
  if (elsewhere) return { kind: 'conflict', elsewhere }
  // After a sign-in the session is back, so an ended one is worth another attempt.
  if (error.isPassing || error.status === 401) return { kind: 'later' }
  return { kind: 'refused', sentence: error.message }
}
