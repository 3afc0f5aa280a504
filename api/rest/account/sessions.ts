import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import { endpointOf, type Route } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { Session } from '#core/account/session.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = AccountServices
const endpoint = endpointOf<Services>()

export const sessionRoutes: Route<Services>[] = [
  endpoint({
    name: 'listMySessions',
    method: 'GET',
    path: '/api/v1/auth/sessions',
    summary: 'List my sessions that have not ended, last used first. Not with an API key',
    tag: 'auth',
    allow: { who: 'user' },
    query: Type.Object(pageQuery),
    reply: Paginated(Session),
    run: async (call, { query }) => paginate(call, query, await call.services.accounts.listSessions(call.caller, pageWindow(query))),
  }),
  endpoint({
    name: 'endMySession',
    method: 'DELETE',
    path: '/api/v1/auth/sessions/:sessionId',
    changes: 'sessions',
    summary: 'End one of my sessions: its cookie or tokens stop working at once. Not with an API key',
    tag: 'auth',
    allow: { who: 'user' },
    status: 204,
    params: Type.Object({ sessionId: Uuid }),
    run: (call, { params }) => call.services.accounts.endSession(params.sessionId, call.caller),
  }),
]
