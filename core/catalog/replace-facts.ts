import type { Knex } from 'knex'
import { lockRecords, touchRecords } from '#core/metadata/metadata-record-store.ts'
import { deleteFact, type Facts, listFacts, memberOfFacts, saveFact } from '#core/metadata/series-facts-store.ts'

/**
 * Makes these all that stands in one of the tables beside a series or book, by the word of a person; what is there already stays as it is.
 * @param change.rows by the members that tell one from another: `source` and `url` of links, `label` and `title` of titles
 */
export async function replaceFacts(
  database: Knex,
  change: { facts: Facts; ownerId: string; rows: readonly Readonly<Record<string, string>>[] },
): Promise<void> {
  const { facts, ownerId, rows } = change
  const record = facts.startsWith('book') ? 'book' : 'series'
  await database.transaction(async (trx) => {
    // Else two at once would leave what each of them wanted.
    await lockRecords(trx, record, [ownerId])
    const known = await listFacts<{ id: string } & Record<string, unknown>>(trx, facts, [ownerId])
    const isSame = (row: Readonly<Record<string, string>>, fact: Record<string, unknown>) =>
      Object.entries(row).every(([name, value]) => fact[name] === value)
    for (const fact of known) if (!rows.some((row) => isSame(row, fact))) await deleteFact(trx, facts, ownerId, { id: fact.id })
    for (const row of rows) if (!known.some((fact) => isSame(row, fact))) await saveFact(trx, facts, { [`${record}_id`]: ownerId, ...row })
    await touchRecords(trx, record, [ownerId], [memberOfFacts(facts)])
  })
}
