import { setTimeout as sleep } from 'node:timers/promises'
import Type from 'typebox'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'

/** Creates JSON routes for tests, which may use every service. */
export const endpoint = endpointOf<Services>()

/** Creates routes for tests that respond with bytes. */
export const stream = streamOf<Services>()

/** A route that responds after the number of milliseconds in its path, unless the client disconnects before. @param onChange receives 1 when a wait begins, -1 when it ends */
export const waitRoute = (onChange: (by: 1 | -1) => void = () => {}) =>
  endpoint({
    method: 'GET',
    path: '/wait/:ms',
    summary: 'answers after a while',
    tag: 'test',
    allow: { who: 'public' },
    params: Type.Object({ ms: Type.Integer() }),
    reply: Type.Integer(),
    run: async ({ signal }, { params }) => {
      onChange(1)
      await sleep(params.ms, undefined, { signal }).finally(() => onChange(-1))
      return params.ms
    },
  })
