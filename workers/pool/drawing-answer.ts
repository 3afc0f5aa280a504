import { BOOK_ERROR_TYPES, type Problem } from '#core/fields/analysis.ts'
import type { DrawingOutcome, DrawingRequest, FromChild } from '../drawing.ts'
import { SIDE_MAX } from '../images/plain-picture.ts'
import type { ChildEnd } from './child-process.ts'

const MESSAGE_LENGTH_MAX = 1_000

/**
 * Parses the answer of a child; null when no intact child would send it. A malicious file may control the child, so every value is
 * checked.
 */
export function readAnswer(message: FromChild, body: Uint8Array<ArrayBuffer>): DrawingOutcome | Error | null {
  if (message.kind === 'drawn') {
    const { width, height, incomplete } = message
    const isSide = (side: unknown) => Number.isInteger(side) && (side as number) > 0 && (side as number) <= SIDE_MAX
    const isJpeg = body[0] === 0xff && body[1] === 0xd8
    return isSide(width) && isSide(height) && isJpeg ? { jpeg: body, width, height, incomplete: incomplete === true } : null
  }
  if (message.kind === 'refused') {
    const { type, message: text, details } = message.problem ?? {}
    if (!BOOK_ERROR_TYPES.includes(type) || typeof text !== 'string') return null
    const problem: Problem = { type, message: text.slice(0, MESSAGE_LENGTH_MAX), fatal: false }
    return { problem: typeof details === 'object' && details !== null ? { ...problem, details } : problem }
  }
  if (message.kind === 'failed' && typeof message.message === 'string') return new Error(message.message)
  return null
}

/**
 * The problem of a page whose drawing ended its process. `stopped` marks ends that would happen again. `died` counts against the
 * file, and only when the process ended by itself: a process terminated at its limits may have been slow because the machine was busy,
 * and the rest of its book is readable.
 */
export function lostPage(
  request: DrawingRequest,
  lost: { end: ChildEnd; detail: string },
  limits: { deadlineMs: number; residentMbMax: number },
): Problem {
  const page = request.index + 1
  const what = request.picture ? 'The picture' : `Page ${page}`
  const why: Partial<Record<ChildEnd, string>> = {
    deadline: `takes longer than ${limits.deadlineMs / 1000} s to draw`,
    memory: `needs more memory than ${limits.residentMbMax} MB to draw`,
  }
  return {
    type: request.picture ? 'thumbnail' : 'pdf_rendering',
    message: `${what} ${why[lost.end] ?? 'crashes the process that draws it'}. Drawing was stopped.`,
    details: {
      ...(request.picture ? {} : { page }),
      stopped: lost.end,
      ...(why[lost.end] ? {} : { died: 'child', detail: lost.detail }),
    },
    fatal: false,
  }
}

/** Whether drawing the same page again would take the same time or end the same way. */
export function isLasting(outcome: DrawingOutcome): outcome is { problem: Problem } {
  return 'problem' in outcome && outcome.problem.details?.['stopped'] !== undefined
}
