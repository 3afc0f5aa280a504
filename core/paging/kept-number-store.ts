import type { Knex } from 'knex'

/** Any constant of our own: who holds this lock adds the differences up; others leave it to them. */
const ADDING_LOCK = 7_201_884_315

/** Rows of series_totals for the same series become one, or none when they cancel each other out. */
const ADD_UP_TOTALS = `
  WITH many AS (SELECT library_id, age_rating, tag_ids FROM series_totals GROUP BY library_id, age_rating, tag_ids HAVING count(*) > 1),
    taken AS (DELETE FROM series_totals t USING many m
      WHERE t.library_id = m.library_id AND t.age_rating IS NOT DISTINCT FROM m.age_rating AND t.tag_ids = m.tag_ids RETURNING t.*)
  INSERT INTO series_totals SELECT library_id, age_rating, tag_ids, sum(series_count), sum(book_count), sum(deleted_count) FROM taken
    GROUP BY library_id, age_rating, tag_ids HAVING (sum(series_count), sum(book_count), sum(deleted_count)) <> (0, 0, 0)`

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
    await trx.raw(ADD_UP_TOTALS)
  })
}
