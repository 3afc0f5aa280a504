import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = Needs<never>
const endpoint = endpointOf<Services>()

/**
 * Clients of this API ask these again and again, whatever the server can do: whether releases of a library are tracked, and where one may sign in
 * besides here. Neither is part of this server, so both answer that there is nothing.
 */
export const polledListRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/release-sources/applicability',
    summary: 'Whether releases are tracked: never here',
    tag: 'releases',
    allow: { who: 'series-read' },
    query: Type.Object({ libraryId: Type.Optional(Uuid) }),
    reply: Type.Object({ applicable: Type.Boolean(), pluginDisplayNames: Type.Array(Type.String()) }),
    run: async () => ({ applicable: false, pluginDisplayNames: [] }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/auth/oidc/providers',
    summary: 'Where one may sign in besides here: nowhere',
    tag: 'auth',
    allow: { who: 'public' },
    reply: Type.Object({
      enabled: Type.Boolean(),
      providers: Type.Array(Type.Object({ name: Type.String(), displayName: Type.String(), loginUrl: Type.String() })),
    }),
    run: async () => ({ enabled: false, providers: [] }),
  }),
]
