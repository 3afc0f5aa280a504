import Type from 'typebox'
import type { AccountServices } from '#api/areas/account.ts'
import { endpointOf, madeAt, type Route } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { ApiKey, ApiKeyEdit, NewApiKey, NewApiKeyAnswer } from '#core/account/api-key.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = AccountServices
const endpoint = endpointOf<Services>()

const params = Type.Object({ apiKeyId: Uuid })

export const apiKeyRoutes: Route<Services>[] = [
  endpoint({
    name: 'listApiKeys',
    method: 'GET',
    path: '/api/v1/api-keys',
    summary: 'List my API keys, oldest first',
    tag: 'api-keys',
    allow: { who: 'api-keys-read' },
    query: Type.Object(pageQuery),
    reply: Paginated(ApiKey),
    run: async (call, { query }) => paginate(call, query, await call.services.accounts.listApiKeys(call.caller, pageWindow(query))),
  }),
  endpoint({
    name: 'createApiKey',
    method: 'POST',
    path: '/api/v1/api-keys',
    summary: 'Create an API key; at most 50 per user. Only this answer shows the key itself',
    tag: 'api-keys',
    allow: { who: 'api-keys-write' },
    status: 201,
    body: NewApiKey,
    reply: NewApiKeyAnswer,
    run: async (call, { body }) => madeAt(call, '/api/v1/api-keys', await call.services.accounts.createApiKey(body, call.caller)),
  }),
  endpoint({
    name: 'getApiKey',
    method: 'GET',
    path: '/api/v1/api-keys/:apiKeyId',
    summary: 'Get an API key: mine or, with users-read, that of any user',
    tag: 'api-keys',
    allow: { who: 'api-keys-read' },
    params,
    reply: ApiKey,
    run: (call, { params }) => call.services.accounts.getApiKey(params.apiKeyId, call.caller),
  }),
  endpoint({
    name: 'patchApiKey',
    method: 'PATCH',
    path: '/api/v1/api-keys/:apiKeyId',
    summary: 'Change an API key: mine or, with users-write, that of a user with no more permissions than me',
    tag: 'api-keys',
    allow: { who: 'api-keys-write' },
    params,
    body: ApiKeyEdit,
    reply: ApiKey,
    run: (call, { params, body }) => call.services.accounts.editApiKey(params.apiKeyId, body, call.caller),
  }),
  endpoint({
    name: 'deleteApiKey',
    method: 'DELETE',
    path: '/api/v1/api-keys/:apiKeyId',
    summary: 'Delete an API key: mine or, with users-delete, that of a user with no more permissions than me. It stops working at once',
    tag: 'api-keys',
    allow: { who: 'api-keys-delete' },
    status: 204,
    params,
    run: (call, { params }) => call.services.accounts.removeApiKey(params.apiKeyId, call.caller),
  }),
]
