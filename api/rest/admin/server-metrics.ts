import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { Nullable, Timestamp } from '#core/foundation/schema.ts'

type Services = Needs<'stalls'>
const endpoint = endpointOf<Services>()

/** What the server knows of itself, in numbers. */
export const serverMetricsRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/metrics/server',
    summary: 'How often the server stood still since it started, in numbers',
    tag: 'health',
    allow: { who: 'system-admin' },
    reply: Type.Object(
      {
        stalls: Type.Object({
          count: Type.Integer({ minimum: 0, description: 'Times that nobody was answered for more than 200 ms.' }),
          worstMs: Type.Integer({ minimum: 0 }),
          worstWork: Nullable(Type.String(), {
            description:
              'Route and id of the request, plugin call or task that was at work then; of a file only that it was one, its name stands in the log.',
          }),
          worstAt: Nullable(Timestamp),
        }),
        updatedAt: Timestamp,
      },
      { title: 'ServerMetrics' },
    ),
    run: async ({ services }) => {
      const { worstAt, worstWork, ...counts } = services.stalls()
      // The file may be of a series that whoever asks does not see.
      const work = worstWork?.startsWith('file ') ? 'file' : worstWork
      return { stalls: { ...counts, worstWork: work, worstAt: worstAt?.toISOString() ?? null }, updatedAt: new Date().toISOString() }
    },
  }),
]
