import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import { Uuid } from '#core/foundation/schema.ts'

const endpoint = endpointOf<object>()

/**
 * Clients of this API poll these routes on every server: whether release tracking exists, and which external sign-in providers there are.
 * This server has neither, so both answers are empty.
 */
export const polledListRoutes = [
  endpoint({
    name: 'getReleaseSourceApplicability',
    method: 'GET',
    path: '/api/v1/release-sources/applicability',
    summary: 'Get the state of release tracking; this server has none',
    tag: 'releases',
    allow: { who: 'series-read' },
    query: Type.Object({ libraryId: Type.Optional(Uuid) }),
    reply: Type.Object({ applicable: Type.Boolean(), pluginDisplayNames: Type.Array(Type.String()) }),
    run: async () => ({ applicable: false, pluginDisplayNames: [] }),
  }),
  endpoint({
    name: 'listOidcProviders',
    method: 'GET',
    path: '/api/v1/auth/oidc/providers',
    summary: 'List external sign-in providers; this server has none',
    tag: 'auth',
    allow: { who: 'public' },
    reply: Type.Object({
      enabled: Type.Boolean(),
      providers: Type.Array(Type.Object({ name: Type.String(), displayName: Type.String(), loginUrl: Type.String() })),
    }),
    run: async () => ({ enabled: false, providers: [] }),
  }),
]
