import Type from 'typebox'
import type { HealthServices } from '#api/areas/health.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Nullable, Timestamp } from '#core/foundation/schema.ts'

type Services = Pick<HealthServices, 'stalls'>
const endpoint = endpointOf<Services>()

/** Metrics of the server process. */
export const serverMetricsRoutes = [
  endpoint({
    name: 'getServerMetrics',
    method: 'GET',
    path: '/api/v1/metrics/server',
    summary: 'Get how often the server was blocked since its start',
    tag: 'health',
    allow: { who: 'system-admin' },
    reply: Type.Object(
      {
        stalls: Type.Object({
          count: Type.Integer({ minimum: 0, description: 'How often the server answered no request for more than 200 ms.' }),
          worstMs: Type.Integer({ minimum: 0 }),
          worstWork: Nullable(Type.String(), {
            description:
              'The request, plugin call or task that was running then, by route and id. A file is not named here, but in the log.',
          }),
          worstAt: Nullable(Timestamp),
        }),
        updatedAt: Timestamp,
      },
      { title: 'ServerMetrics' },
    ),
    run: async ({ services }) => {
      const { worstAt, worstWork, ...counts } = services.stalls()
      // The caller may not be allowed to see the series of that file.
      const work = worstWork?.startsWith('file ') ? 'file' : worstWork
      return { stalls: { ...counts, worstWork: work, worstAt: worstAt?.toISOString() ?? null }, updatedAt: new Date().toISOString() }
    },
  }),
]
