import Type from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import { endpointOf } from '#api/http/endpoint.ts'
import type { Caller } from '#core/account/caller.ts'
import { findAccountProblem } from '#core/account/registration-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { AnyNumber, Nullable, UNTRIMMED } from '#core/foundation/schema.ts'
import { CHOSEN_SETTINGS, getChosenSetting, SETTING_LENGTH_MAX, SettingChange, SettingRecord } from '#core/settings/chosen-setting.ts'
import { type Change, changeSettings, listSettingChanges, listSettings, readSetting } from '#core/settings/chosen-setting-store.ts'

type Services = Pick<DataServices, 'database'> & Pick<TemplateServices, 'templates'>
const endpoint = endpointOf<Services>()

const tag = 'settings'
const allow = { who: 'system-admin' } as const
const Key = Type.Object({ key: Type.String({ minLength: 1, maxLength: 100 }) })
export const SettingValue = Type.Union([Type.String({ ...UNTRIMMED, maxLength: SETTING_LENGTH_MAX }), Type.Boolean(), AnyNumber()], {
  title: 'SettingValue',
  description: 'A text, or JSON of the type of the setting. White space is trimmed, except from templates.',
})
const Reason = Type.Optional(Nullable(Type.String({ maxLength: 1_000 })))
/** More than the number of settings. */
const UPDATES_MAX = 100
const HISTORY_MAX = 500
const SWITCH = /^(true|false)$/

type Call = { caller: Pick<Caller, 'userId'>; services: Services; address: string }

/** Validates every value before storing any. @throws not_found, invalid_value with the path of the value */
export async function changeChosen(
  { services: { database, templates }, caller: { userId }, address }: Call,
  changes: readonly (Change & { path: string })[],
  reason: string | null | undefined,
): Promise<SettingRecord[]> {
  for (const { key, value, path } of changes) {
    const setting = getChosenSetting(key)
    if (value === null) continue
    const wrong = (message: string): never => refuse('invalid_value', `The setting ${key} ${message}.`, { details: [{ path, message }] })
    const { length } = setting.kind === 'template' ? value : value.trim()
    if (length > setting.lengthMax) wrong(`has ${length} characters; the maximum is ${setting.lengthMax}`)
    if (setting.kind === 'text' && !setting.mayBeEmpty && value.trim() === '') wrong('must not be empty')
    if (setting.kind === 'switch' && !SWITCH.test(value.trim())) wrong('must be true or false')
    const problem = setting.check?.(value.trim()) ?? (await findAccountProblem(database, key, value))
    if (problem) wrong(problem)
    if (setting.kind !== 'template') continue
    const outline = await templates.read(value)
    if ('error' in outline) {
      const { message, line, column } = outline.error
      wrong(`is not a valid template: ${message.replace(/\.$/, '')}${line === null ? '' : ` (line ${line}, column ${column})`}`)
    }
  }
  const kept = changes.map((one) => ({
    ...one,
    value: getChosenSetting(one.key).kind === 'template' ? one.value : (one.value?.trim() ?? null),
  }))
  return await changeSettings(database, kept, { userId, reason: reason ?? null, address })
}

const only = ([record]: SettingRecord[]): SettingRecord => record ?? refuse('not_found')

export const settingRoutes = [
  endpoint({
    name: 'listSettings',
    method: 'GET',
    path: '/api/v1/admin/settings',
    summary: 'List the runtime settings',
    tag,
    allow,
    query: Type.Object({ category: Type.Optional(Type.String({ maxLength: 100 })) }),
    reply: Type.Array(SettingRecord),
    run: async (call, { query }) => {
      const settings = await listSettings(call.services.database)
      return query.category === undefined ? settings : settings.filter(({ category }) => category === query.category)
    },
  }),
  endpoint({
    name: 'bulkPutSettings',
    method: 'POST',
    path: '/api/v1/admin/settings/bulk',
    summary: 'Change several runtime settings, all or none',
    tag,
    allow,
    body: Type.Object({
      updates: Type.Array(Type.Object({ key: Key.properties.key, value: SettingValue }), { maxItems: UPDATES_MAX }),
      changeReason: Reason,
    }),
    reply: Type.Array(SettingRecord),
    run: (call, { body }) =>
      changeChosen(
        call,
        body.updates.map(({ key, value }, index) => ({ key, value: String(value), path: `/updates/${index}/value` })),
        body.changeReason,
      ),
  }),
  endpoint({
    name: 'getSetting',
    method: 'GET',
    path: '/api/v1/admin/settings/:key',
    summary: 'Get a runtime setting',
    tag,
    allow,
    params: Key,
    reply: SettingRecord,
    run: async (call, { params }) => {
      const { key } = getChosenSetting(params.key)
      return only((await listSettings(call.services.database)).filter((setting) => setting.key === key))
    },
  }),
  endpoint({
    name: 'putSetting',
    method: 'PUT',
    path: '/api/v1/admin/settings/:key',
    summary: 'Change a runtime setting',
    tag,
    allow,
    params: Key,
    body: Type.Object({ value: SettingValue, changeReason: Reason }),
    reply: SettingRecord,
    run: async (call, { params, body }) =>
      only(await changeChosen(call, [{ key: params.key, value: String(body.value), path: '/value' }], body.changeReason)),
  }),
  endpoint({
    name: 'resetSetting',
    method: 'POST',
    path: '/api/v1/admin/settings/:key/reset',
    summary: 'Reset a runtime setting to its default',
    tag,
    allow,
    params: Key,
    reply: SettingRecord,
    run: async (call, { params }) => only(await changeChosen(call, [{ key: params.key, value: null, path: '/value' }], null)),
  }),
  endpoint({
    name: 'getSettingHistory',
    method: 'GET',
    path: '/api/v1/admin/settings/:key/history',
    summary: 'List the changes of a runtime setting, latest first',
    tag,
    allow,
    params: Key,
    query: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 1, maximum: HISTORY_MAX, description: 'Default 50.' })) }),
    reply: Type.Array(SettingChange),
    run: (call, { params, query }) => listSettingChanges(call.services.database, params.key, query.limit ?? 50),
  }),
  endpoint({
    name: 'listPublicSettings',
    method: 'GET',
    path: '/api/v1/settings/public',
    summary: 'List the settings that all users may see, by key',
    tag,
    allow: { who: 'user' },
    reply: Type.Record(Type.String(), Type.Object({ key: Type.String(), value: Type.String() })),
    run: async (call) => {
      const known = new Set(CHOSEN_SETTINGS.filter(({ isPublic }) => isPublic).map(({ key }) => key))
      const settings = (await listSettings(call.services.database)).filter(({ key }) => known.has(key))
      return Object.fromEntries(settings.map(({ key, value }) => [key, { key, value }]))
    },
  }),
  endpoint({
    name: 'getBranding',
    method: 'GET',
    path: '/api/v1/settings/branding',
    summary: 'Get the name of the server',
    tag,
    allow: { who: 'public' },
    reply: Type.Object({ applicationName: Type.String() }),
    run: async (call) => ({ applicationName: await readSetting(call.services.database, 'application.name') }),
  }),
]
