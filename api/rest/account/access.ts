import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { Access, AccessEdit, VisibleToUser } from '#core/account/access.ts'
import { getAccess, setAccess } from '#core/account/access-store.ts'
import { Uuid } from '#core/foundation/schema.ts'
import { readVisible } from '#core/maintenance/visible-query.ts'

type Services = AccountServices & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const tag = 'users'
const allow = { who: 'system-admin' } as const
const params = Type.Object({ userId: Uuid })
const path = '/api/v1/users/:userId/access'

export const accessRoutes = [
  endpoint({
    name: 'getUserAccess',
    method: 'GET',
    path,
    summary: 'Get what a user may see: libraries, ages, sharing tags',
    tag,
    allow,
    params,
    reply: Access,
    run: (call, { params }) => getAccess(call.services.database, params.userId, call.caller),
  }),
  endpoint({
    name: 'putUserAccess',
    method: 'PUT',
    path,
    summary: 'Set what a user may see; it takes effect at once. Refused for administrators, who see everything, and for oneself',
    tag,
    allow,
    params,
    body: AccessEdit,
    reply: Access,
    run: (call, { params, body }) => setAccess(call.services.database, call.caller, params.userId, body),
  }),
  endpoint({
    name: 'getVisibleToUser',
    method: 'GET',
    path: '/api/v1/users/:userId/visible',
    summary: 'Get how much a user sees of each library, and how much each kind of rule hides',
    tag,
    allow,
    params,
    query: Type.Object({ seriesId: Type.Optional(Uuid) }),
    reply: VisibleToUser,
    run: async (call, { params, query }) => {
      await call.services.accounts.getUser(params.userId)
      return await readVisible(call.services.database, call.caller, params.userId, query.seriesId)
    },
  }),
]
