import Type from 'typebox'
import type { HealthServices } from '#api/areas/health.ts'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import { refuse } from '#core/foundation/errors.ts'

type Services = Pick<HealthServices, 'dataFolderProblem' | 'databaseState' | 'diskState' | 'poolHealthy'>
const endpoint = endpointOf<Services>()

const Ok = Type.Literal('ok')
const Health = Type.Object({ status: Ok, database: Ok, disk: Ok, pool: Ok, dataFolder: Ok }, { title: 'Health' })

/** Descriptions of unhealthy states. */
const DATABASE = { read_only: 'the database is read-only', unavailable: 'the database does not answer' } as const
const DISK = { full: 'the disk of the data folder is full', missing: 'the data folder is missing' } as const
const POOL = 'the worker pool has failed'

export const healthRoutes: Route<Services>[] = [
  endpoint({
    name: 'getHealth',
    method: 'GET',
    path: '/health',
    summary: 'Check the health of the server: 200, or 503 with details of what does not work',
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
      return refuse('unavailable', `The server is unhealthy: ${ill.join(', ')}.`, {
        details,
        retryAfterSeconds: 5,
      })
    },
  }),
]
