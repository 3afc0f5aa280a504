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

/** Of all plugins that were ever installed. */
export async function listIdentities(database: Knex): Promise<Pick<PluginIdentity, 'key' | 'signers'>[]> {
  return await database('plugin_identities').orderBy('key').select('key', 'signers')
}
