import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { PREFERENCE_BYTES_MAX, PREFERENCES_MAX, Preference, PreferenceKey } from '#core/account/preference.ts'
import { deletePreference, getPreference, listPreferences, savePreferences } from '#core/account/preference-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { FreeJson } from '#core/foundation/schema.ts'

type Services = Pick<DataServices, 'database'>
const endpoint = endpointOf<Services>()

const tag = 'preferences'
// These permissions concern the user's own data rather than the library, and preferences are data of the same kind as progress.
const read = { who: 'progress-read' } as const
const write = { who: 'progress-write' } as const
const Key = Type.Object({ key: PreferenceKey })
const preferences = Type.Array(Preference)
/** A sent value may have more white space than the stored one. */
const BODY_BYTES_MAX = 2 * PREFERENCE_BYTES_MAX

export const preferenceRoutes = [
  endpoint({
    name: 'listMyPreferences',
    method: 'GET',
    path: '/api/v1/user/preferences',
    summary: 'List my preferences by key',
    tag,
    allow: read,
    reply: Type.Object({ preferences }),
    run: async (call) => ({ preferences: await listPreferences(call.services.database, call.caller.userId) }),
  }),
  endpoint({
    name: 'putMyPreferences',
    method: 'PUT',
    path: '/api/v1/user/preferences',
    summary: `Set several preferences, all or none: 64 KB each, at most ${PREFERENCES_MAX} and 1 MB per user; others stay`,
    tag,
    allow: write,
    body: Type.Object({ preferences: Type.Record(Type.String(), FreeJson, { maxProperties: PREFERENCES_MAX }) }),
    reply: Type.Object({ preferences, updated: Type.Integer({ minimum: 0 }) }),
    run: async (call, { body }) => {
      const at = (key: string) => ({ key: `/preferences/${escapePointer(key)}`, value: `/preferences/${escapePointer(key)}` })
      const saved = await savePreferences(call.services.database, call.caller.userId, body.preferences, at)
      return { preferences: saved, updated: saved.length }
    },
  }),
  endpoint({
    name: 'getMyPreference',
    method: 'GET',
    path: '/api/v1/user/preferences/:key',
    summary: 'Get one of my preferences',
    tag,
    allow: read,
    params: Key,
    reply: Preference,
    run: (call, { params }) => getPreference(call.services.database, call.caller.userId, params.key),
  }),
  endpoint({
    name: 'putMyPreference',
    method: 'PUT',
    path: '/api/v1/user/preferences/:key',
    summary: 'Set one of my preferences, of at most 64 KB',
    tag,
    allow: write,
    params: Key,
    body: Type.Object({ value: FreeJson }),
    bodyBytesMax: BODY_BYTES_MAX,
    reply: Preference,
    run: async (call, { params, body }) => {
      const [saved] = await savePreferences(call.services.database, call.caller.userId, { [params.key]: body.value }, () => ({
        key: '/key',
        value: '/value',
      }))
      return saved ?? refuse('not_found')
    },
  }),
  endpoint({
    name: 'deleteMyPreference',
    method: 'DELETE',
    path: '/api/v1/user/preferences/:key',
    summary: 'Delete one of my preferences',
    tag,
    allow: write,
    params: Key,
    reply: Type.Object({ deleted: Type.Boolean(), message: Type.String() }),
    run: async (call, { params }) => {
      const deleted = await deletePreference(call.services.database, call.caller.userId, params.key)
      return { deleted, message: deleted ? `Deleted "${params.key}".` : `There is no value with the key "${params.key}".` }
    },
  }),
]
