import Type from 'typebox'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Needs } from '#api/http/services.ts'
import { changeChosen, SettingValue } from '#api/rest/admin/settings.ts'
import { CHOSEN_SETTINGS, VALUE_LENGTH_MAX } from '#core/settings/chosen-setting.ts'
import { listSettings } from '#core/settings/chosen-setting-store.ts'

type Services = Needs<'database' | 'templates'>
const endpoint = endpointOf<Services>()

const tag = 'setup'
const allow = { who: 'system-admin' } as const
/** More than there are settings. */
const SETTINGS_MAX = 100
/** Every setting with the longest value that it may have fits. */
const BODY_BYTES_MAX = (CHOSEN_SETTINGS.length + 1) * 2 * VALUE_LENGTH_MAX

export const setupSettingRoutes = [
  endpoint({
    method: 'GET',
    path: '/api/v1/setup/settings',
    summary: 'Settings that can be chosen after the first administrator was made, with their values',
    tag,
    allow,
    reply: Type.Object({ settings: Type.Record(Type.String(), Type.String()) }),
    run: async (call) => ({
      settings: Object.fromEntries((await listSettings(call.services.database)).map(({ key, value }) => [key, value])),
    }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/api/v1/setup/settings',
    summary: 'Choose settings after the first administrator was made, all or none; or skip that',
    tag,
    allow,
    body: Type.Object({
      settings: Type.Record(Type.String(), SettingValue, { maxProperties: SETTINGS_MAX }),
      skipConfiguration: Type.Boolean({ description: 'True leaves everything as it is, whatever else is sent.' }),
    }),
    bodyBytesMax: BODY_BYTES_MAX,
    reply: Type.Object({ message: Type.String(), settingsConfigured: Type.Integer({ minimum: 0 }) }),
    run: async (call, { body }) => {
      const { services, address } = call
      const { userId } = call.caller
      if (body.skipConfiguration) return { message: 'The settings stay as they are.', settingsConfigured: 0 }
      const changes = Object.entries(body.settings).map(([key, value]) => ({ key, value: String(value), path: `/settings/${key}` }))
      const { length } = await changeChosen(
        { ...{ database: services.database, templates: services.templates }, userId, address },
        changes,
        null,
      )
      return { message: `${length} settings were chosen.`, settingsConfigured: length }
    },
  }),
]
