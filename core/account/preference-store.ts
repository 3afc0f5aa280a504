import type { Knex } from 'knex'
import { PREFERENCES_BYTES_MAX, PREFERENCES_MAX, type Preference, readPreference, valueTypeOf } from '#core/account/preference.ts'
import { refuse } from '#core/foundation/errors.ts'

interface Row {
  key: string
  value: unknown
  updated_at: Date
}

const COLUMNS = ['key', 'value', 'updated_at']
const preferenceOf = ({ key, value, updated_at }: Row): Preference => ({
  key,
  value,
  valueType: valueTypeOf(value),
  updatedAt: updated_at.toISOString(),
})

/** All preferences of a user, by key. */
export async function listPreferences(database: Knex, userId: string): Promise<Preference[]> {
  const rows: Row[] = await database('user_preferences').where('user_id', userId).orderBy('key').select(COLUMNS)
  return rows.map(preferenceOf)
}

/** @throws not_found */
export async function getPreference(database: Knex, userId: string, key: string): Promise<Preference> {
  const row: Row | undefined = await database('user_preferences').where({ user_id: userId, key }).first(COLUMNS)
  return row ? preferenceOf(row) : refuse('not_found', `There is no preference "${key}".`)
}

/**
 * Stores values under their keys, all of them or none.
 * @param pointersOf JSON pointers to a key and its value in the request
 * @throws invalid_value for a key or value that breaks a rule, and when the user would have too many preferences or too many bytes
 */
export async function savePreferences(
  database: Knex,
  userId: string,
  values: Readonly<Record<string, unknown>>,
  pointersOf: (key: string) => { key: string; value: string },
): Promise<Preference[]> {
  const rows = Object.entries(values).map(([key, value]) => ({ user_id: userId, key, value: readPreference(key, value, pointersOf(key)) }))
  if (rows.length === 0) return []
  return await database.transaction(async (trx) => {
    // Locked: otherwise concurrent requests would each find room.
    if (!(await trx('users').where('id', userId).forUpdate().first('id'))) refuse('not_found', 'There is no such user.')
    const saved: Row[] = await trx('user_preferences')
      .insert(rows.map((row) => ({ ...row, updated_at: trx.fn.now() })))
      .onConflict(['user_id', 'key'])
      .merge(['value', 'updated_at'])
      .returning(COLUMNS)
    const kept = await trx('user_preferences')
      .where('user_id', userId)
      .first(trx.raw('count(*)::int AS count, coalesce(sum(octet_length(value::text)), 0)::int AS bytes'))
    if (kept.bytes > PREFERENCES_BYTES_MAX)
      refuse(
        'invalid_value',
        `The preferences of a user have at most ${PREFERENCES_BYTES_MAX} bytes of JSON in total, and would have ${kept.bytes}; delete some first. Nothing was changed.`,
      )
    if (kept.count > PREFERENCES_MAX)
      refuse('invalid_value', `A user has at most ${PREFERENCES_MAX} preferences; delete some first. Nothing was changed.`)
    return saved.map(preferenceOf).sort((a, b) => (a.key < b.key ? -1 : 1))
  })
}

/** @returns whether the preference existed */
export async function deletePreference(database: Knex, userId: string, key: string): Promise<boolean> {
  return (await database('user_preferences').where({ user_id: userId, key }).delete()) > 0
}
