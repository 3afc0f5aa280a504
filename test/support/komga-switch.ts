import type { Knex } from 'knex'

/** Enables the Komga API below `/komga`. Call it before the first request. */
export async function enableKomga(database: Knex): Promise<void> {
  await database('chosen_settings').insert({ key: 'compatibilityApi.enabled', value: 'true' }).onConflict('key').merge()
}

/** Values of parameters that only routes of the Komga API have. */
export const KOMGA_NAMES = { prefix: 'komga', sha256: '0'.repeat(64) }
