import Type from 'typebox'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { NAME, VERSION } from '#api/http/version.ts'

type Services = Needs<never>
const endpoint = endpointOf<Services>()

export const infoRoutes: Route<Services>[] = [
  endpoint({
    method: 'GET',
    path: '/api/v1/info',
    summary: 'Get the name and version of this server',
    tag: 'info',
    allow: { who: 'public' },
    reply: Type.Object({ name: Type.String(), version: Type.String() }),
    run: async () => ({ name: NAME, version: VERSION }),
  }),
]
