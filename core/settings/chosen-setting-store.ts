import type { Knex } from 'knex'
import { FreshCache } from '#core/database/fresh-cache.ts'
import { perDatabase } from '#core/database/per-database.ts'
import {
  CHOSEN_SETTINGS,
  type ChosenSetting,
  getChosenSetting,
  type SettingChange,
  type SettingRecord,
} from '#core/settings/chosen-setting.ts'

interface Row {
  id: string
  key: string
  value: string
  version: number
  updated_at: Date
  updated_by: string | null
}

/** Every setting with its value, in the order of the table in the code. Inserts the rows of new settings. */
export async function listSettings(database: Knex): Promise<SettingRecord[]> {
  await database('chosen_settings')
    .insert(CHOSEN_SETTINGS.map(({ key, fallback }) => ({ key, value: fallback })))
    .onConflict('key')
    .ignore()
  const rows: Row[] = await database('chosen_settings').select('*')
  return CHOSEN_SETTINGS.map((setting) => recordOf(setting, rows.find(({ key }) => key === setting.key) as Row))
}

/** The value of one setting. */
export async function readSetting(database: Knex, key: string): Promise<string> {
  const setting = getChosenSetting(key)
  const row = await database('chosen_settings').where({ key }).first('value')
  return row?.value ?? setting.fallback
}

/** How long another process may still use the previous value. In this process a change counts at once. */
const FRESH_MS = 5_000
/** All settings together, which are few and short. */
const SETTINGS_BYTES_MAX = 1024 * 1024
const cacheOf = perDatabase((database) => {
  const load = async () => new Map((await database('chosen_settings').select('key', 'value')).map((row) => [row.key, row.value]))
  return new FreshCache<Map<string, string>>({ bytesMax: SETTINGS_BYTES_MAX, freshMs: FRESH_MS, load })
})

/** The value of one setting, for code that runs with every request: cached for a few seconds at most. */
export async function readFreshSetting(database: Knex, key: string): Promise<string> {
  return (await cacheOf(database).get('all'))?.get(key) ?? getChosenSetting(key).fallback
}

/** Whether a switch is on. */
export async function isSwitchedOn(database: Knex, key: string): Promise<boolean> {
  return (await readSetting(database, key)) === 'true'
}

export interface Change {
  key: string
  /** Null resets the setting to its default. */
  value: string | null
}

/**
 * Changes settings, all of them or none, and records by whom. A setting that has the value already is not changed.
 * @param by.reason as the user wrote it
 */
export async function changeSettings(
  database: Knex,
  changes: readonly Change[],
  by: { userId: string; reason: string | null; address: string },
): Promise<SettingRecord[]> {
  await listSettings(database)
  const changed = database.transaction(async (trx) => {
    const keys = [...new Set(changes.map(({ key }) => key))].sort()
    const rows: Row[] = await trx('chosen_settings').whereIn('key', keys).orderBy('key').forUpdate()
    const changed = new Map(rows.map((row) => [row.key, row]))
    for (const { key, value } of changes) {
      const row = changed.get(key) as Row
      const next = value ?? getChosenSetting(key).fallback
      if (next === row.value) continue
      const [fresh] = await trx('chosen_settings')
        .where({ key })
        .update({ value: next, version: row.version + 1, updated_at: trx.fn.now(), updated_by: by.userId })
        .returning('*')
      await trx('setting_history').insert({
        setting_id: row.id,
        old_value: row.value,
        new_value: next,
        change_reason: by.reason,
        ip_address: by.address,
        changed_by: by.userId,
      })
      changed.set(key, fresh)
    }
    return keys.map((key) => recordOf(getChosenSetting(key), changed.get(key) as Row))
  })
  return await changed.finally(() => cacheOf(database).clear())
}

/** The latest changes of a setting, newest first. */
export async function listSettingChanges(database: Knex, key: string, limit: number): Promise<SettingChange[]> {
  getChosenSetting(key)
  const rows: (Omit<SettingChange, 'changedAt'> & { changedAt: Date })[] = await database('setting_history AS h')
    .join('chosen_settings AS s', 's.id', 'h.setting_id')
    .where('s.key', key)
    .orderByRaw('h.changed_at DESC, h.id DESC')
    .limit(limit)
    .select({
      id: 'h.id',
      settingId: 'h.setting_id',
      key: 's.key',
      oldValue: 'h.old_value',
      newValue: 'h.new_value',
      changeReason: 'h.change_reason',
      ipAddress: 'h.ip_address',
      changedBy: 'h.changed_by',
      changedAt: 'h.changed_at',
    })
  return rows.map((row) => ({ ...row, changedAt: row.changedAt.toISOString() }))
}

const VALUE_TYPES = { text: 'string', template: 'template', switch: 'boolean' } as const

function recordOf(setting: ChosenSetting, row: Row): SettingRecord {
  return {
    id: row.id,
    key: setting.key,
    category: setting.category,
    description: setting.about,
    value: row.value,
    defaultValue: setting.fallback,
    valueType: VALUE_TYPES[setting.kind],
    isSensitive: false,
    minValue: null,
    maxValue: setting.kind === 'switch' ? null : setting.lengthMax,
    version: row.version,
    updatedAt: row.updated_at.toISOString(),
    updatedBy: row.updated_by,
  }
}
