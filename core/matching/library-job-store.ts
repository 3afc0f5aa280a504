import type { Knex } from 'knex'
import type { TaskStatus } from '#core/foundation/task-status.ts'
import type { JobConfig, LibraryJob } from '#core/matching/library-job.ts'

interface JobRow {
  id: string
  library_id: string
  name: string
  enabled: boolean
  cron: string | null
  timezone: string
  config: JobConfig
  next_run_at: Date | null
  last_run_at: Date | null
  last_run_status: TaskStatus | null
  last_run_message: string | null
  task_id: string | null
  created_at: Date
  updated_at: Date
}

function jobOf(row: JobRow): LibraryJob {
  return {
    id: row.id,
    libraryId: row.library_id,
    name: row.name,
    enabled: row.enabled,
    cronSchedule: row.cron,
    timezone: row.timezone,
    config: row.config,
    nextRunAt: row.next_run_at?.toISOString() ?? null,
    lastRunAt: row.last_run_at?.toISOString() ?? null,
    lastRunStatus: row.last_run_status,
    lastRunMessage: row.last_run_message,
    taskId: row.task_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
}

export async function listJobs(database: Knex, libraryId: string): Promise<LibraryJob[]> {
  return (await database('library_jobs').where('library_id', libraryId).orderBy(['created_at', 'id'])).map(jobOf)
}

export async function findJob(database: Knex, id: string): Promise<LibraryJob | null> {
  const row = await database('library_jobs').where({ id }).first()
  return row ? jobOf(row) : null
}

interface JobChange {
  name?: string
  enabled?: boolean
  cron?: string | null
  timezone?: string
  config?: JobConfig
  nextRunAt?: Date | null
}

const columnsOf = ({ config, nextRunAt, ...change }: JobChange) => ({
  ...change,
  ...(config !== undefined && { config: JSON.stringify(config) }),
  ...(nextRunAt !== undefined && { next_run_at: nextRunAt }),
})

/** Null if the library has the maximum number of jobs. */
export async function addJob(
  database: Knex,
  job: Required<JobChange> & { libraryId: string },
  jobsMax: number,
): Promise<LibraryJob | null> {
  return await database.transaction(async (trx) => {
    await trx('libraries').where('id', job.libraryId).forUpdate().first('id')
    const row = await trx('library_jobs').where('library_id', job.libraryId).count({ count: '*' }).first()
    if (Number(row?.['count'] ?? 0) >= jobsMax) return null
    const { libraryId, ...rest } = job
    const [added] = await trx('library_jobs').insert({ library_id: libraryId, type: 'metadata_refresh', ...columnsOf(rest) }, '*')
    return jobOf(added)
  })
}

/** @param change computes the change from the locked job; if it throws, the job stays. Null if there is no job */
export async function updateJob(database: Knex, id: string, change: (job: LibraryJob) => JobChange): Promise<LibraryJob | null> {
  return await database.transaction(async (trx) => {
    const before = await trx('library_jobs').where({ id }).forUpdate().first()
    if (!before) return null
    const [row] = await trx('library_jobs')
      .where({ id })
      .update({ ...columnsOf(change(jobOf(before))), updated_at: trx.fn.now() }, '*')
    return jobOf(row)
  })
}

export async function deleteJob(database: Knex, id: string): Promise<void> {
  await database('library_jobs').where({ id }).delete()
}

/** Jobs that are due. */
export async function listDueJobs(database: Knex): Promise<LibraryJob[]> {
  const rows = await database('library_jobs').where('enabled', true).where('next_run_at', '<=', database.fn.now()).orderBy('next_run_at')
  return rows.map(jobOf)
}

/** Replaces the due time by the next one. False if another node has done so. */
export async function advanceJob(database: Knex, job: LibraryJob, nextRunAt: Date | null): Promise<boolean> {
  return (
    (await database('library_jobs')
      .where({ id: job.id, enabled: true })
      .whereRaw('next_run_at = CAST(? AS timestamptz)', [job.nextRunAt])
      .update({ next_run_at: nextRunAt })) > 0
  )
}

/** Ends a run whose task has ended, unless its end is recorded already. */
export async function settleRun(
  database: Knex,
  { id, taskId }: Pick<LibraryJob, 'id' | 'taskId'>,
  end: { status: 'failed' | 'cancelled'; message: string },
): Promise<void> {
  await database('library_jobs')
    .where({ id, task_id: taskId, last_run_status: 'processing' })
    .update({ last_run_status: end.status, last_run_message: end.message })
}

export async function recordRun(
  database: Knex,
  id: string,
  run: { status: 'processing' | 'completed' | 'failed' | 'cancelled'; message: string | null; taskId?: string },
): Promise<void> {
  await database('library_jobs')
    .where({ id })
    .update({
      last_run_status: run.status,
      last_run_message: run.message,
      ...(run.status === 'processing' && { last_run_at: database.fn.now() }),
      ...(run.taskId !== undefined && { task_id: run.taskId }),
    })
}
