import Type from 'typebox'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import { NAME, VERSION } from '#api/http/version.ts'

const endpoint = endpointOf<object>()

export const infoRoutes: Route<object>[] = [
  endpoint({
    name: 'getInfo',
    method: 'GET',
    path: '/api/v1/info',
    summary: 'Get the name and version of this server',
    tag: 'info',
    allow: { who: 'public' },
    reply: Type.Object({ name: Type.String(), version: Type.String() }),
    run: async () => ({ name: NAME, version: VERSION }),
  }),
]
