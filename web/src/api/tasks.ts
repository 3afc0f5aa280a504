import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { components } from '#api/schema.d.ts'

export type TaskRecord = components['schemas']['Task']
export type TaskStatus = TaskRecord['status']

const PAGE_SIZE = 50
/** Events tell when a task begins, goes on and ends; this is for those that were missed. */
const POLL_MS = 15_000
/** Lists that a person made longer than this are asked for again only when something changes here. */
const PAGES_MAX = 2

/** How many tasks there are of each status. Needs `tasks-read`. */
export const taskCountsQuery = queryOptions({
  queryKey: ['tasks', 'counts'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/tasks/stats', { signal })),
  refetchInterval: POLL_MS,
})

/** How many tasks wait or run, by type. Events bring the numbers to who sees everything. Needs `tasks-read`. */
export const openTasksQuery = queryOptions({
  queryKey: ['open-tasks'],
  queryFn: async ({ signal }): Promise<Readonly<Record<string, number>>> => {
    const { byType } = await ask(api.GET('/api/v1/tasks/stats', { signal }))
    return Object.fromEntries(Object.entries(byType).map(([type, { pending, processing }]) => [type, pending + processing]))
  },
  refetchInterval: POLL_MS,
})

interface TaskPage {
  data: TaskRecord[]
  page: number
  totalPages: number
}

/** The tasks of a status, newest first. @param status null for all */
export const tasksQuery = (status: TaskStatus | null) =>
  infiniteQueryOptions({
    queryKey: ['tasks', 'list', status],
    queryFn: async ({ pageParam: page, signal }) => {
      const query = { page, pageSize: PAGE_SIZE, ...(status === null ? {} : { status }) }
      // With a page the answer is no plain list.
      return (await ask(api.GET('/api/v1/tasks', { params: { query }, signal }))) as TaskPage
    },
    initialPageParam: 1,
    getNextPageParam: ({ page, totalPages }) => (page < totalPages ? page + 1 : undefined),
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > PAGES_MAX ? false : POLL_MS),
    meta: { pagesMax: PAGES_MAX },
  })

export async function cancelTask(taskId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/tasks/{taskId}/cancel', { params: { path: { taskId } } }))
  await refresh(['tasks', 'scans'])
}

export async function retryTask(taskId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/tasks/{taskId}/retry', { params: { path: { taskId } } }))
  await refresh(['tasks', 'scans'])
}
