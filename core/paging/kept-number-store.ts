import type { Knex } from 'knex'

/** Any constant of our own: who holds this lock adds the differences up; others leave it to them. */
const ADDING_LOCK = 7_201_884_315

/**
 * Adds the differences of the kept numbers to their rows; the numbers stay the same in every snapshot. In a short transaction of its own, so that it
 * waits for no writer and no writer for it.
 */
export async function addUpKeptNumbers(database: Knex): Promise<void> {
  await database.transaction(async (trx) => {
    const { rows } = await trx.raw('SELECT pg_try_advisory_xact_lock(?) AS mine', [ADDING_LOCK])
    if (!rows[0].mine) return
    await trx.raw(
      `WITH taken AS (DELETE FROM kept_number_changes RETURNING kind, key, delta)
       INSERT INTO kept_numbers AS k (kind, key, value) SELECT kind, key, sum(delta) FROM taken GROUP BY kind, key
       ON CONFLICT (kind, key) DO UPDATE SET value = k.value + excluded.value`,
    )
    // Those of deleted libraries.
    await trx.raw('DELETE FROM kept_numbers WHERE value = 0')
  })
}
