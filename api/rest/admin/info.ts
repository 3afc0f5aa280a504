import Type from 'typebox'
import type { Route } from '#api/http/endpoint.ts'
import { endpoint } from '#api/http/route.ts'
import type { Services } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'

export const infoRoutes: Route<Services>[] = [
  endpoint({
    method: 'GET',
    path: '/api/v1/info',
    summary: 'Name and version of this server.',
    tag: 'info',
    allow: { who: 'public' },
    reply: Type.Object({ name: Type.String(), version: Type.String() }),
    run: async () => ({ name: NAME, version: VERSION }),
  }),
]
