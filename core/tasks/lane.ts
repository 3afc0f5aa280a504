import type { TaskHandler, TaskType } from '#core/tasks/task.ts'
import type { Claim } from '#core/tasks/task-store.ts'

/** A task that runs on this node. */
export interface Running {
  claim: Claim
  abort: AbortController
  cancelled: boolean
  done: Promise<void>
}

/** How a run ended. */
export type Ending = { claim: Claim } & (
  | { how: 'completed'; result: unknown }
  | { how: 'failed'; error: unknown }
  | { how: 'handed back' }
  | { how: 'cancelled' }
)

/** The tasks of one type on this node. */
export interface Lane {
  type: TaskType
  concurrency: number
  handler: TaskHandler
  running: Map<string, Running>
  ended: Ending[]
  /** Claimed in the turn under way, begun or not. */
  claimed: string[]
  /** Cancelled during the turn under way: what was claimed in it must not begin. */
  cancelled: Set<string>
  pumping: Promise<void> | null
  again: boolean
}
