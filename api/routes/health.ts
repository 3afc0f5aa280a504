import Type from 'typebox'
import type { Route } from '#api/http/endpoint.ts'
import { endpoint } from '#api/routes/route.ts'
import type { Services } from '#api/services.ts'
import { isAlive } from '#core/database/liveness-query.ts'
import { refuse } from '#core/errors.ts'

/** A load balancer asks every few seconds and gives up about then. */
const DATABASE_DEADLINE_MS = 3_000

const Ok = Type.Literal('ok')
const Health = Type.Object({ status: Ok, database: Ok, pool: Ok, dataFolder: Ok }, { title: 'Health' })

export const healthRoutes: Route<Services>[] = [
  endpoint({
    method: 'GET',
    path: '/health',
    summary: 'Whether the server can work: 200, or 503 whose details name the part that cannot.',
    tag: 'health',
    allow: { who: 'public' },
    reply: Health,
    run: async ({ services }) => {
      const database = await isAlive(services.database, { deadlineMs: DATABASE_DEADLINE_MS })
      const pool = services.poolHealthy()
      const folder = services.dataFolderProblem()
      if (database && pool && folder === null) return { status: 'ok', database: 'ok', pool: 'ok', dataFolder: 'ok' } as const
      const ill = [
        ...(database ? [] : ['the database does not answer']),
        ...(pool ? [] : ['the worker pool is not well']),
        ...(folder === null ? [] : [`the data folder ${folder}`]),
      ]
      const word = (good: boolean) => (good ? 'ok' : 'unavailable')
      return refuse('unavailable', `The server cannot work: ${ill.join(', ')}.`, {
        details: { database: word(database), pool: word(pool), dataFolder: word(folder === null) },
      })
    },
  }),
]
