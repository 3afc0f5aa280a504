import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { ListChecks } from 'lucide-react'
import { useState } from 'react'
import { type TaskStatus, taskCountsQuery, tasksQuery } from '#api/tasks.ts'
import { Select } from '#parts/controls.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { workTexts } from '#texts/work.ts'
import { TaskRow } from './task-row.tsx'

const ALL = 'all'
const STATUSES: readonly TaskStatus[] = ['processing', 'pending', 'failed', 'completed', 'cancelled']

/** All tasks, newest first, of any status or of one. */
export function Tasks() {
  const [status, setStatus] = useState<TaskStatus | typeof ALL>(ALL)
  const counts = useQuery(taskCountsQuery).data
  const list = useInfiniteQuery(tasksQuery(status === ALL ? null : status))
  const mayWrite = useMayDo('tasks-write')
  const tasks = list.data?.pages.flatMap(({ data }) => data)
  return (
    <section className="stack" aria-labelledby="tasks-title">
      <header className="head">
        <h2 className="section-title" id="tasks-title">
          {workTexts.tasks()}
        </h2>
        <div className="end">
          <Select
            isSoft
            label={workTexts.status()}
            value={status}
            options={[
              { value: ALL, text: workTexts.all({ count: counts?.total ?? 0 }) },
              ...STATUSES.map((value) => ({ value, text: workTexts[`${value}Count`]({ count: counts?.[value] ?? 0 }) })),
            ]}
            onChange={setStatus}
          />
        </div>
      </header>
      {list.error && <Failure error={list.error} onRetry={() => void list.refetch()} />}
      {tasks?.length === 0 && <Empty icon={ListChecks} title={workTexts.noTasks()} words={workTexts.noTasksWords()} />}
      <ul className="rows">
        {tasks?.map((task) => (
          <TaskRow key={task.id} task={task} mayWrite={mayWrite} />
        ))}
      </ul>
      {list.hasNextPage && (
        <div className="line">
          <button type="button" className="btn" aria-busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {workTexts.more()}
          </button>
        </div>
      )}
    </section>
  )
}
