import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Author } from '#core/fields/field.ts'
import { NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import { cutText } from '#core/foundation/text.ts'
import { writeInStatements } from '#core/metadata/metadata-record-store.ts'
import { cleanName, keyOfClean } from '#core/metadata/name.ts'

/** The people of one book or series, in the order of its list. */
interface PeopleOf {
  id: string
  authors: readonly Author[]
}

/** A record may have five hundred people, and a change twenty records; normalizing the names of one takes up to 3 ms. */
const PEOPLE_A_TURN = 500

/** The columns of a person: normalizing may lengthen a name, and an index entry holds about 2,700 bytes. */
function personOf(name: string): { name: string; name_key: string } {
  const clean = cleanName(name)
  return { name: cutText(clean, NAME_LENGTH_MAX), name_key: cutText(keyOfClean(clean), NAME_LENGTH_MAX) }
}

/** The rows of all people, made in turns of the event loop. */
async function rowsOf(changed: readonly PeopleOf[]) {
  const rows: { owner: string; position: number; role: string; name: string; name_key: string }[] = []
  let madeBefore = 0
  for (const { id: owner, authors } of changed) {
    for (const [position, { name, role }] of authors.entries()) {
      const person = personOf(name)
      if (person.name_key !== '') rows.push({ owner, position, role, ...person })
    }
    if (rows.length - madeBefore < PEOPLE_A_TURN) continue
    madeBefore = rows.length
    await nextTurn()
  }
  return rows
}

const ROWS = 'jsonb_to_recordset(CAST(? AS jsonb)) AS r (owner uuid, position smallint, name text, name_key text, role text)'

/**
 * Replaces the rows of people of books or series in few statements. The caller must hold locks on the records, and write their lists in the same
 * transaction.
 */
export async function storePeople(trx: Knex, kind: Kind, changed: readonly PeopleOf[]): Promise<void> {
  if (changed.length === 0) return
  await trx(`${kind}_people`)
    .whereRaw(`${kind}_id = ANY(CAST(? AS uuid[]))`, [changed.map(({ id }) => id)])
    .delete()
  const rows = await rowsOf(changed)
  // Always in the same order, so that two transactions that add people never deadlock.
  rows.sort((a, b) => (a.name_key < b.name_key ? -1 : a.name_key > b.name_key ? 1 : 0))
  await writeInStatements(rows, async (text) => {
    // A separate statement: the next one then sees people that another transaction has added in the meantime.
    await trx.raw(
      `INSERT INTO people (name, name_key) SELECT DISTINCT ON (name_key) name, name_key FROM ${ROWS} ORDER BY name_key
       ON CONFLICT (name_key) DO NOTHING`,
      [text],
    )
    await trx.raw(
      `INSERT INTO ${kind}_people (${kind}_id, position, person_id, role)
       SELECT r.owner, r.position, p.id, r.role FROM ${ROWS} JOIN people p ON p.name_key = r.name_key`,
      [text],
    )
  })
}

/**
 * Deletes people without books and series; returns how many. The lock waits for transactions that add people, and makes new ones wait: otherwise one of them
 * could use a person that this deletes.
 */
export async function deleteUnusedPeople(database: Knex): Promise<number> {
  return await database.transaction(async (trx): Promise<number> => {
    await trx.raw('LOCK TABLE people IN SHARE ROW EXCLUSIVE MODE')
    return await trx('people')
      .whereRaw('NOT EXISTS (SELECT 1 FROM book_people x WHERE x.person_id = people.id)')
      .whereRaw('NOT EXISTS (SELECT 1 FROM series_people x WHERE x.person_id = people.id)')
      .delete()
  })
}
