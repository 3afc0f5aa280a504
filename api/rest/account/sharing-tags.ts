import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf, madeAt } from '#api/http/endpoint.ts'
import { Paginated, pageQuery, pageWindow, paginate } from '#api/http/pagination.ts'
import { NewGrant, SharingGrant } from '#core/account/access.ts'
import { NewSharingTag, SeriesSharingTags, SharingGrants, SharingTag, SharingTagEdit, SharingTagSummary } from '#core/account/sharing.ts'
import {
  addSeriesTag,
  addSharingTag,
  editSharingTag,
  getSharingTag,
  listGrants,
  listSeriesTags,
  listSharingTags,
  removeGrant,
  removeSeriesTag,
  removeSharingTag,
  setGrant,
  setSeriesTags,
} from '#core/account/sharing-store.ts'
import { Uuid } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const TagId = Type.Object({ tagId: Uuid })
const SeriesId = Type.Object({ seriesId: Uuid })
const UserId = Type.Object({ userId: Uuid })
const tag = 'sharing-tags'
const allow = { who: 'system-admin' } as const

export const sharingTagRoutes = [
  endpoint({
    name: 'listSharingTags',
    method: 'GET',
    path: '/api/v1/admin/sharing-tags',
    summary: 'List sharing tags by name',
    tag,
    allow,
    query: Type.Object(pageQuery),
    reply: Paginated(SharingTag),
    run: async (call, { query }) => paginate(call, query, await listSharingTags(call.services.database, call.caller, pageWindow(query))),
  }),
  endpoint({
    name: 'createSharingTag',
    method: 'POST',
    path: '/api/v1/admin/sharing-tags',
    summary: 'Create a sharing tag',
    tag,
    allow,
    status: 201,
    body: NewSharingTag,
    reply: SharingTag,
    run: async (call, { body }) =>
      madeAt(call, '/api/v1/admin/sharing-tags', await addSharingTag(call.services.database, call.caller, body)),
  }),
  endpoint({
    name: 'getSharingTag',
    method: 'GET',
    path: '/api/v1/admin/sharing-tags/:tagId',
    summary: 'Get a sharing tag',
    tag,
    allow,
    params: TagId,
    reply: SharingTag,
    run: (call, { params }) => getSharingTag(call.services.database, call.caller, params.tagId),
  }),
  endpoint({
    name: 'patchSharingTag',
    method: 'PATCH',
    path: '/api/v1/admin/sharing-tags/:tagId',
    summary: 'Change the name or description of a sharing tag',
    tag,
    allow,
    params: TagId,
    body: SharingTagEdit,
    reply: SharingTag,
    run: (call, { params, body }) => editSharingTag(call.services.database, call.caller, params.tagId, body),
  }),
  endpoint({
    name: 'deleteSharingTag',
    method: 'DELETE',
    path: '/api/v1/admin/sharing-tags/:tagId',
    summary: 'Delete a sharing tag; removes it from every series and user',
    tag,
    allow,
    status: 204,
    params: TagId,
    query: Type.Object({
      confirm: Type.Optional(
        Type.Boolean({ description: 'Delete it even if some user then sees more; otherwise such a tag is refused (409).' }),
      ),
    }),
    run: (call, { params, query }) => removeSharingTag(call.services.database, params.tagId, { isConfirmed: query.confirm === true }),
  }),
  endpoint({
    name: 'listSeriesSharingTags',
    method: 'GET',
    path: '/api/v1/series/:seriesId/sharing-tags',
    summary: 'List the sharing tags of a series',
    tag,
    allow,
    params: SeriesId,
    reply: Type.Array(SharingTagSummary),
    run: (call, { params }) => listSeriesTags(call.services.database, call.caller, params.seriesId),
  }),
  endpoint({
    name: 'putSeriesSharingTags',
    method: 'PUT',
    path: '/api/v1/series/:seriesId/sharing-tags',
    summary: 'Set the sharing tags of a series',
    tag,
    allow,
    params: SeriesId,
    body: SeriesSharingTags,
    reply: Type.Array(SharingTagSummary),
    run: (call, { params, body }) => setSeriesTags(call.services.database, call.caller, { ...params, tagIds: body.sharingTagIds }),
  }),
  endpoint({
    name: 'addSeriesSharingTag',
    method: 'POST',
    path: '/api/v1/series/:seriesId/sharing-tags',
    summary: 'Add a sharing tag to a series',
    tag,
    allow,
    params: SeriesId,
    body: Type.Object({ sharingTagId: Uuid }),
    reply: Type.Array(SharingTagSummary),
    run: (call, { params, body }) => addSeriesTag(call.services.database, call.caller, { ...params, tagId: body.sharingTagId }),
  }),
  endpoint({
    name: 'removeSeriesSharingTag',
    method: 'DELETE',
    path: '/api/v1/series/:seriesId/sharing-tags/:tagId',
    summary: 'Remove a sharing tag from a series',
    tag,
    allow,
    status: 204,
    params: Type.Object({ seriesId: Uuid, tagId: Uuid }),
    run: (call, { params }) => removeSeriesTag(call.services.database, call.caller, params),
  }),
  endpoint({
    name: 'listMySharingTags',
    method: 'GET',
    path: '/api/v1/user/sharing-tags',
    summary: 'List my sharing tag grants',
    tag,
    allow: { who: 'user' },
    reply: SharingGrants,
    run: async (call) => {
      const { userId } = call.caller
      return { userId, grants: await listGrants(call.services.database, userId) }
    },
  }),
  endpoint({
    name: 'listUserSharingTags',
    method: 'GET',
    path: '/api/v1/users/:userId/sharing-tags',
    summary: 'List the sharing tag grants of a user',
    tag,
    allow,
    params: UserId,
    reply: SharingGrants,
    run: async (call, { params }) => ({ ...params, grants: await listGrants(call.services.database, params.userId) }),
  }),
  endpoint({
    name: 'putUserSharingTags',
    method: 'PUT',
    path: '/api/v1/users/:userId/sharing-tags',
    summary: 'Allow or deny a user the series with a sharing tag',
    tag,
    allow,
    params: UserId,
    body: NewGrant,
    reply: SharingGrant,
    run: (call, { params, body }) => setGrant(call.services.database, call.caller, params.userId, body),
  }),
  endpoint({
    name: 'removeUserSharingTag',
    method: 'DELETE',
    path: '/api/v1/users/:userId/sharing-tags/:tagId',
    summary: 'Remove a grant from a user',
    tag,
    allow,
    status: 204,
    params: Type.Object({ userId: Uuid, tagId: Uuid }),
    run: (call, { params }) => removeGrant(call.services.database, call.caller, params.userId, params.tagId),
  }),
]
