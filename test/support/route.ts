import { setTimeout as sleep } from 'node:timers/promises'
import Type from 'typebox'
import { endpointOf, streamOf } from '#api/http/endpoint.ts'
import type { Services } from '#api/http/services.ts'

/** Makes JSON routes for tests, which may call every service. */
export const endpoint = endpointOf<Services>()

/** Makes routes for tests that answer with bytes. */
export const stream = streamOf<Services>()

/** Answers after as many milliseconds as its path says, unless its client goes away before. @param onChange given 1 when it begins to wait, -1 when it ends */
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
