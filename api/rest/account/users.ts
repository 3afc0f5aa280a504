import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, madeAt, type Route } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { ROLES } from '#core/account/permission.ts'
import { EditedUser, NewUser, User, UserDetail, UserEdit } from '#core/account/user.ts'
import { ReadProgress } from '#core/catalog/book.ts'
import { progressOf } from '#core/catalog/progress.ts'
import { OneOf, Uuid } from '#core/foundation/schema.ts'
import { listProgressOfUser } from '#core/reading/progress-query.ts'

type Services = AccountServices & Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const params = Type.Object({ userId: Uuid })

export const userRoutes: Route<Services>[] = [
  endpoint({
    name: 'listUsers',
    method: 'GET',
    path: '/api/v1/users',
    summary: 'List users by name',
    tag: 'users',
    allow: { who: 'users-read' },
    query: Type.Object({
      ...pageQuery,
      role: Type.Optional(OneOf(ROLES)),
      sharingTag: Type.Optional(Type.String({ maxLength: 200, description: 'Name of a sharing tag that the user has a grant for.' })),
      sharingTagMode: Type.Optional(OneOf(['allow', 'deny'])),
    }),
    reply: Paginated(User),
    run: async (call, { query }) => paginate(call, query, await call.services.accounts.listUsers({ filter: query, ...pageWindow(query) })),
  }),
  endpoint({
    name: 'createUser',
    method: 'POST',
    path: '/api/v1/users',
    summary: 'Create a user; the default role is reader',
    tag: 'users',
    allow: { who: 'users-write' },
    status: 201,
    body: NewUser,
    reply: User,
    run: async (call, { body }) => madeAt(call, '/api/v1/users', await call.services.accounts.createUser(body, call.caller)),
  }),
  endpoint({
    name: 'getUser',
    method: 'GET',
    path: '/api/v1/users/:userId',
    summary: 'Get a user with what they may see',
    tag: 'users',
    allow: { who: 'users-read' },
    params,
    reply: UserDetail,
    run: (call, { params }) => call.services.accounts.getUserDetail(params.userId, call.caller),
  }),
  endpoint({
    name: 'getUserProgress',
    method: 'GET',
    path: '/api/v1/users/:userId/progress',
    summary:
      'List the reading progress of a user, latest first, if a setting of the server allows it; without series that you or the user may not see',
    tag: 'users',
    allow: { who: 'system-admin', also: ['progress-read'] },
    params,
    query: Type.Object(pageQuery),
    reply: Paginated(ReadProgress),
    run: async (call, { params: { userId }, query }) => {
      const { accounts, database } = call.services
      await accounts.getUser(userId)
      const { items, total } = await listProgressOfUser(database, call.caller, { userId, ...pageWindow(query) })
      return paginate(call, query, { items: items.map(progressOf), total })
    },
  }),
  endpoint({
    name: 'patchUser',
    method: 'PATCH',
    path: '/api/v1/users/:userId',
    summary: 'Change a user. A new password or disabling the account ends all their sessions; revokeApiKeys also revokes their API keys',
    tag: 'users',
    allow: { who: 'users-write' },
    params,
    body: UserEdit,
    reply: EditedUser,
    run: (call, { params, body }) => call.services.accounts.editUser(params.userId, body, call.caller),
  }),
  endpoint({
    name: 'deleteUser',
    method: 'DELETE',
    path: '/api/v1/users/:userId',
    summary: 'Delete a user with all their data',
    tag: 'users',
    allow: { who: 'users-delete' },
    status: 204,
    params,
    run: (call, { params }) => call.services.accounts.removeUser(params.userId, call.caller),
  }),
]
