import type { Route } from '#api/http/endpoint.ts'
import { stream } from '#api/routes/route.ts'
import type { Services } from '#api/services.ts'
import { isAlive } from '#core/database/liveness-query.ts'

/** A load balancer asks every few seconds and gives up about then. */
const DATABASE_DEADLINE_MS = 3_000

export const healthRoutes: Route<Services>[] = [
  stream({
    path: '/health',
    summary: 'Whether the server can work: 200, or 503 with the part that cannot.',
    tag: 'health',
    allow: { who: 'public' },
    mediaTypes: ['application/json'],
    run: async ({ services }) => {
      const database = await isAlive(services.database, { deadlineMs: DATABASE_DEADLINE_MS })
      const pool = services.poolHealthy()
      const healthy = database && pool
      const word = (good: boolean) => (good ? 'ok' : 'unavailable')
      return {
        kind: 'bytes',
        bytes: Buffer.from(JSON.stringify({ status: word(healthy), database: word(database), pool: word(pool) })),
        mediaType: 'application/json; charset=utf-8',
        cacheControl: 'no-store',
        status: healthy ? 200 : 503,
      }
    },
  }),
]
