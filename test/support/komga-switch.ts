import type { Knex } from 'knex'

/** Switches the interface of Komga on, below `/komga`; to be called before the first request. */
export async function switchKomgaOn(database: Knex): Promise<void> {
  await database('chosen_settings').insert({ key: 'compatibilityApi.enabled', value: 'true' }).onConflict('key').merge()
}

/** Values of the parameters that only its routes have. */
export const KOMGA_NAMES = { prefix: 'komga' }
