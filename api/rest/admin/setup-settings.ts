import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import { changeChosen, SettingValue } from '#api/rest/admin/settings.ts'
import { CHOSEN_SETTINGS, SETTING_LENGTH_MAX } from '#core/settings/chosen-setting.ts'
import { listSettings } from '#core/settings/chosen-setting-store.ts'

type Services = Pick<DataServices, 'database'> & Pick<TemplateServices, 'templates'>
const endpoint = endpointOf<Services>()

const tag = 'setup'
const allow = { who: 'system-admin' } as const
/** More than the number of settings. */
const SETTINGS_MAX = 100
/** Enough for every setting with its longest value. */
const BODY_BYTES_MAX = (CHOSEN_SETTINGS.length + 1) * 2 * SETTING_LENGTH_MAX

export const setupSettingRoutes = [
  endpoint({
    name: 'listSetupSettings',
    method: 'GET',
    path: '/api/v1/setup/settings',
    summary: 'List the settings of the first setup with their values',
    tag,
    allow,
    reply: Type.Object({ settings: Type.Record(Type.String(), Type.String()) }),
    run: async (call) => ({
      settings: Object.fromEntries((await listSettings(call.services.database)).map(({ key, value }) => [key, value])),
    }),
  }),
  endpoint({
    name: 'patchSetupSettings',
    method: 'PATCH',
    path: '/api/v1/setup/settings',
    summary: 'Change settings during the first setup, all or none; or skip this step',
    tag,
    allow,
    body: Type.Object({
      settings: Type.Record(Type.String(), SettingValue, { maxProperties: SETTINGS_MAX }),
      skipConfiguration: Type.Boolean({ description: 'True changes nothing and ignores all other members.' }),
    }),
    bodyBytesMax: BODY_BYTES_MAX,
    reply: Type.Object({ message: Type.String(), settingsConfigured: Type.Integer({ minimum: 0 }) }),
    run: async (call, { body }) => {
      if (body.skipConfiguration) return { message: 'The settings are unchanged.', settingsConfigured: 0 }
      const changes = Object.entries(body.settings).map(([key, value]) => ({ key, value: String(value), path: `/settings/${key}` }))
      const { length } = await changeChosen(call, changes, null)
      return { message: `Changed ${length} settings.`, settingsConfigured: length }
    },
  }),
]
