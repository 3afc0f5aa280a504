import type { Knex } from 'knex'
import { type ConsentRecord, recordHash } from '#plugins/consent/record.ts'

/** What an administrator has agreed to. */
export interface Consent {
  record: ConsentRecord
  recordHash: string
  /** Of the package that was shown. */
  sha256: string
  /** Null for a command on the server's machine, and for a user who was deleted. */
  userId: string | null
  /** Null for a plugin that ran before there were records. */
  consentedAt: Date | null
}

export async function findConsent(database: Knex, pluginId: string): Promise<Consent | null> {
  const columns = ['record', 'record_hash AS recordHash', 'sha256', 'user_id AS userId', 'consented_at AS consentedAt']
  return (await database('plugin_consents').where('plugin_id', pluginId).first(columns)) ?? null
}

/** Replaces the consent of a plugin. Call it in the transaction that makes the version run. */
export async function recordConsent(
  trx: Knex,
  pluginId: string,
  { record, sha256, userId }: { record: ConsentRecord; sha256: string; userId: string | null },
): Promise<void> {
  const row = { sha256, record: JSON.stringify(record), record_hash: recordHash(record), user_id: userId, consented_at: trx.fn.now() }
  await trx('plugin_consents')
    .insert({ plugin_id: pluginId, ...row })
    .onConflict('plugin_id')
    .merge(row)
}

/** What a plugin may do after it went back to less: a part of what its person has consented to. Rights that it gave up so do not come back unasked. */
export async function narrowConsent(trx: Knex, pluginId: string, record: ConsentRecord): Promise<void> {
  const row = { record: JSON.stringify(record), record_hash: recordHash(record) }
  await trx('plugin_consents').where('plugin_id', pluginId).update(row)
}
