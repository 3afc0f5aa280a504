import { setTimeout as sleep } from 'node:timers/promises'
import { send } from '#bench/stall/input.ts'
import type { RunningServer } from '#test/support/running-server.ts'

/** Tasks that take longer are canceled: their steps were measured by then. */
export const TASKS_MS = 20_000
const LOOK_MS = 250
const CANCELED_MAX = 100

const countOpen = async (server: RunningServer): Promise<number> => {
  const { pending, processing } = await server.get<{ pending: number; processing: number }>('/api/v1/tasks/stats')
  return pending + processing
}

/** Waits until no task waits or runs; cancels the rest after `waitMs`. */
export async function awaitIdle(server: RunningServer, waitMs = TASKS_MS): Promise<void> {
  const until = performance.now() + waitMs
  while ((await countOpen(server)) > 0) {
    if (performance.now() > until) return await cancelAll(server)
    await sleep(LOOK_MS)
  }
}

async function cancelAll(server: RunningServer): Promise<void> {
  for (const status of ['pending', 'processing']) {
    const tasks = await server.get<{ id: string }[]>(`/api/v1/tasks?status=${status}&limit=${CANCELED_MAX}`)
    for (const { id } of tasks) await send(server, 'POST', `/api/v1/tasks/${id}/cancel`)
  }
}
