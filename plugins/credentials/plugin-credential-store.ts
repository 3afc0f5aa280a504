import type { Knex } from 'knex'

/** The owner of credentials: the server, or one user. */
export interface CredentialOwner {
  pluginId: string
  userId: string | null
}

export interface SealedCredential {
  field: string
  keyId: string
  sealed: Buffer
  expiresAt: Date | null
  updatedAt: Date
}

const of = (database: Knex, { pluginId, userId }: CredentialOwner) =>
  database('plugin_credentials').where('plugin_id', pluginId).whereRaw('user_id IS NOT DISTINCT FROM ?', [userId])

/** Secret settings stand beside the credentials for services, and change apart from them. */
const SETTING = 'setting.'

export async function listCredentials(database: Knex, owner: CredentialOwner): Promise<SealedCredential[]> {
  return await of(database, owner)
    .whereNot('field', 'like', `${SETTING}%`)
    .orderBy('field')
    .select('field', 'key_id AS keyId', 'sealed', 'expires_at AS expiresAt', 'updated_at AS updatedAt')
}

/** Those of the server and of one user, secret settings too. @param pluginId one plugin; null for all */
export async function listSealed(
  database: Knex,
  { userId, pluginId }: { userId: string | null; pluginId: string | null },
): Promise<(SealedCredential & CredentialOwner)[]> {
  const rows = database('plugin_credentials').whereRaw('(user_id IS NULL OR user_id = CAST(? AS uuid))', [userId]).orderBy('field')
  if (pluginId !== null) rows.where('plugin_id', pluginId)
  return await rows
    .select('plugin_id AS pluginId', 'user_id AS userId')
    .select('field', 'key_id AS keyId', 'sealed', 'expires_at AS expiresAt', 'updated_at AS updatedAt')
}

/** What replaces the fields with these names; `credentials` stands for all that are no secret settings. */
interface FieldChange {
  replaced: 'credentials' | readonly string[]
  fields: readonly Omit<SealedCredential, 'updatedAt'>[]
}

/**
 * Replaces fields of an owner.
 * @param isWanted checked in the same transaction; nothing changes when it returns false
 * @returns false then, and when the plugin is gone
 */
export async function replaceFields(
  database: Knex,
  owner: CredentialOwner,
  { replaced, fields }: FieldChange,
  isWanted: (trx: Knex) => Promise<boolean> = async () => true,
): Promise<boolean> {
  return await database.transaction(async (trx) => {
    // Concurrent replacements wait for each other; the plugin may be gone by then.
    if (!(await trx('plugins').where('id', owner.pluginId).forUpdate().first('id'))) return false
    if (!(await isWanted(trx))) return false
    const before = of(trx, owner)
    await (replaced === 'credentials' ? before.whereNot('field', 'like', `${SETTING}%`) : before.whereIn('field', [...replaced])).delete()
    if (fields.length === 0) return true
    await trx('plugin_credentials').insert(
      fields.map(({ field, keyId, sealed, expiresAt }) => ({
        plugin_id: owner.pluginId,
        user_id: owner.userId,
        field,
        key_id: keyId,
        sealed,
        expires_at: expiresAt,
      })),
    )
    return true
  })
}

/** The field of a secret setting. */
export const fieldOfSetting = (name: string): string => `${SETTING}${name}`
/** The other way: null for a credential. */
export const settingOfField = (field: string): string | null => (field.startsWith(SETTING) ? field.slice(SETTING.length) : null)

/** The secret settings of an owner, by name. */
export async function listSecretSettings(database: Knex, owner: CredentialOwner): Promise<(SealedCredential & { name: string })[]> {
  const rows = await of(database, owner)
    .where('field', 'like', `${SETTING}%`)
    .orderBy('field')
    .select('field', 'key_id AS keyId', 'sealed', 'expires_at AS expiresAt', 'updated_at AS updatedAt')
  return rows.map((row: SealedCredential) => ({ ...row, name: row.field.slice(SETTING.length) }))
}

/** Credentials encrypted with another key than this one: a few short rows for each connected user. */
export async function listOutdated(database: Knex, keyId: string): Promise<(SealedCredential & CredentialOwner)[]> {
  return await database('plugin_credentials')
    .whereNot('key_id', keyId)
    .select('plugin_id AS pluginId', 'user_id AS userId', 'field', 'key_id AS keyId', 'sealed', 'expires_at AS expiresAt')
}

/** Only when the row has not changed meanwhile. */
export async function resealCredential(
  database: Knex,
  before: SealedCredential & CredentialOwner,
  after: { keyId: string; sealed: Buffer },
): Promise<void> {
  await of(database, before).where({ field: before.field, sealed: before.sealed }).update({ key_id: after.keyId, sealed: after.sealed })
}
