import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import type { PluginIdentity } from '#plugins/packages/identity.ts'

export async function findIdentity(trx: Knex, key: string): Promise<PluginIdentity | null> {
  return (await trx('plugin_identities').where({ key }).first('key', 'signers', 'named', 'version', 'repository')) ?? null
}

export async function recordIdentity(trx: Knex, { signers, ...identity }: PluginIdentity): Promise<void> {
  await trx('plugin_identities')
    .insert({ ...identity, signers: [...signers] })
    .onConflict('key')
    .merge()
}

/**
 * Whoever signed a version that begins to run signs the next ones, if nobody had signed the plugin. Before a person has consented to it, its author may go
 * on without a signature. Call it in the transaction that makes the version run.
 */
export async function acceptSigners(
  trx: Knex,
  key: string,
  { version, signedBy, nextSigners }: { version: string; signedBy: readonly string[]; nextSigners: readonly string[] | null },
): Promise<void> {
  const identity = await findIdentity(trx, key)
  await trx('plugin_identities').where({ key }).update({ accepted: true })
  if (identity === null || identity.signers.length > 0 || signedBy.length === 0) return
  await recordIdentity(trx, { ...identity, signers: nextSigners ?? signedBy, named: nextSigners !== null, version })
}

/** When a plugin is uninstalled to which nobody has consented, its author is free again. Otherwise the identity stays. */
export async function forgetUnaccepted(trx: Knex, key: string): Promise<void> {
  await trx('plugin_identities').where({ key, accepted: false }).delete()
}

/** Records the identity unless another one than `stored` is recorded by now. */
export async function replaceIdentity(database: Knex, stored: PluginIdentity, identity: PluginIdentity): Promise<void> {
  await database.transaction(async (trx) => {
    await trx('plugin_identities').where('key', stored.key).forUpdate().select('key')
    if (isDeepStrictEqual(await findIdentity(trx, stored.key), stored)) await recordIdentity(trx, identity)
  })
}

/** Of all plugins that were ever installed. */
export async function listIdentities(database: Knex): Promise<Pick<PluginIdentity, 'key' | 'signers'>[]> {
  return await database('plugin_identities').orderBy('key').select('key', 'signers')
}
