import Type from 'typebox'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { refuse } from '#core/foundation/errors.ts'

type Services = Needs<'dataFolderProblem' | 'databaseState' | 'diskState' | 'poolHealthy'>
const endpoint = endpointOf<Services>()

const Ok = Type.Literal('ok')
const Health = Type.Object({ status: Ok, database: Ok, disk: Ok, pool: Ok, dataFolder: Ok }, { title: 'Health' })

/** What is said of each state that is not well. */
const DATABASE = { read_only: 'the database takes no changes', unavailable: 'the database does not answer' } as const
const DISK = { full: 'the disk of the data folder is full', missing: 'the data folder is not there' } as const
const POOL = 'the worker pool is not well'

export const healthRoutes: Route<Services>[] = [
  endpoint({
    method: 'GET',
    path: '/health',
    summary: 'Whether the server can work: 200, or 503 whose details name the part that cannot.',
    tag: 'health',
    allow: { who: 'public' },
    reply: Health,
    run: async ({ services }) => {
      const [database, disk] = await Promise.all([services.databaseState(), services.diskState()])
      const pool = services.poolHealthy() ? 'ok' : 'unavailable'
      const problem = services.dataFolderProblem()
      const dataFolder = problem === null ? 'ok' : 'unavailable'
      const details = { database, disk, pool, dataFolder } as const
      const ill = [
        database !== 'ok' && DATABASE[database],
        disk !== 'ok' && DISK[disk],
        pool !== 'ok' && POOL,
        problem !== null && `the data folder ${problem}`,
      ].filter(Boolean)
      if (ill.length === 0) return { status: 'ok', database: 'ok', disk: 'ok', pool: 'ok', dataFolder: 'ok' } as const
      return refuse('unavailable', `The server cannot work: ${ill.join(', ')}.`, {
        details,
        retryAfterSeconds: 5,
      })
    },
  }),
]
