import { isDeepStrictEqual } from 'node:util'
import type { Knex } from 'knex'
import type { Giver } from '#core/fields/field.ts'
import type { Kind } from '#core/fields/record-kind.ts'
import type { SetState } from '#core/metadata/apply-change.ts'
import { isSameEntry } from '#core/metadata/apply-set.ts'
import { TABLES, writeInStatements } from '#core/metadata/metadata-record-store.ts'
import {
  type GivenEntry,
  isNames,
  type MetadataSet,
  type MetadataSets,
  SET_RULES,
  type SetEntries,
  type SetName,
} from '#core/metadata/metadata-set.ts'
import { ensureNames } from '#core/metadata/taxonomy-store.ts'

/** The sets whose entries have rows of their own: the table name after the kind, and its columns by the members of an entry. */
const ROWS: { readonly [Name in Exclude<SetName, 'genres' | 'tags'>]: { table: string; columns: Record<keyof SetEntries[Name], string> } } =
  {
    alternateTitles: { table: 'alternate_titles', columns: { label: 'label', title: 'title' } },
    externalIds: {
      table: 'external_ids',
      columns: { source: 'source', externalId: 'external_id', externalUrl: 'external_url', metadataHash: 'metadata_hash' },
    },
    externalLinks: { table: 'external_links', columns: { source: 'source', url: 'url', externalId: 'external_id' } },
    externalRatings: { table: 'external_ratings', columns: { source: 'source', rating: 'rating', voteCount: 'vote_count' } },
  }
type RowSet = keyof typeof ROWS
/** The stored edits of people, by set. */
type SetEdits = { readonly [Name in SetName]?: Pick<MetadataSet, 'removed' | 'replacements'> }
const columnsOf = (name: RowSet): [member: string, column: string][] => Object.entries(ROWS[name].columns)
const tableOf = (kind: Kind, name: RowSet): string => `${kind}_${ROWS[name].table}`
const taxonomyOf = (name: 'genres' | 'tags') => (name === 'genres' ? 'genre' : 'tag')

function selectEntries(kind: Kind, name: SetName): string {
  const owned = `= ANY(CAST(:ids AS uuid[]))`
  if (isNames(name)) {
    const one = taxonomyOf(name)
    return `SELECT j.${kind}_id AS owner, '${name}' AS set, n.name_key AS key, to_jsonb(n.name) AS value, j.given_by AS giver, NULL::uuid AS id, NULL::timestamptz AS at
      FROM ${kind}_${name} j JOIN ${name} n ON n.id = j.${one}_id WHERE j.${kind}_id ${owned}`
  }
  const members = columnsOf(name).map(([member, column]) => `'${member}', r.${column}`)
  return `SELECT r.${kind}_id AS owner, '${name}' AS set, NULL AS key, jsonb_build_object(${members.join(', ')}) AS value, r.given_by AS giver, r.id, r.created_at AS at
    FROM ${tableOf(kind, name)} r WHERE r.${kind}_id ${owned}`
}

interface EntryRow {
  owner: string
  set: SetName
  key: string | null
  value: SetEntries[SetName]
  giver: Giver
  id: string | null
}

/** Some sets of each book or series, with one statement. For a change, the caller must hold locks on the records. */
export async function readSets(
  trx: Knex,
  kind: Kind,
  ids: readonly string[],
  names: readonly SetName[],
): Promise<Map<string, MetadataSets>> {
  const found = new Map(
    ids.map((id) => [id, new Map(names.map((name) => [name, { entries: new Map<string, GivenEntry>(), removed: [] as string[] }]))]),
  )
  if (ids.length === 0 || names.length === 0) return new Map(ids.map((id) => [id, {}]))
  const selects = names.map((name) => selectEntries(kind, name))
  const { rows } = await trx.raw(`${selects.join(' UNION ALL ')} ORDER BY at, id, key`, { ids: [...ids] })
  for (const { owner, set, key, value, giver, id } of rows as EntryRow[]) {
    const keyOf = SET_RULES[set].keyOf as (entry: unknown) => string
    found
      .get(owner)
      ?.get(set)
      ?.entries.set(key ?? keyOf(value), { value, giver, ...(id !== null && { id }) })
  }
  const { metadata, key: owner } = TABLES[kind]
  const edited = await trx(metadata)
    .whereRaw(`${owner} = ANY(CAST(? AS uuid[])) AND set_edits <> ?`, [[...ids], '{}'])
    .select(owner, 'set_edits')
  for (const row of edited as { [owner: string]: string | SetEdits; set_edits: SetEdits }[]) {
    for (const [name, edits] of Object.entries(row.set_edits)) {
      const set = found.get(row[owner] as string)?.get(name as SetName)
      if (set) Object.assign(set, edits)
    }
  }
  return new Map([...found].map(([id, sets]) => [id, Object.fromEntries(sets) as MetadataSets]))
}

/** The sets of one record before and after a change. */
interface SetsChange {
  before: Pick<SetState, 'id' | 'sets'>
  next: Pick<SetState, 'id' | 'sets'>
}

/** Writes the differences between sets of books or series in few statements. The caller must hold locks on the records. */
export async function storeSets(trx: Knex, kind: Kind, changes: readonly SetsChange[]): Promise<void> {
  const names = new Set(changes.flatMap(({ next }) => Object.keys(next.sets) as SetName[]))
  for (const name of names) {
    const differences = changes.flatMap(({ before, next }) => {
      const [one, other] = [before.sets[name] as MetadataSet | undefined, next.sets[name] as MetadataSet | undefined]
      return one && other && one !== other ? [differenceOf(next.id, one, other)] : []
    })
    if (isNames(name)) await storeNames(trx, kind, name, differences)
    else await storeRows(trx, kind, name, differences)
  }
  await storeEdits(trx, kind, changes)
}

interface SetDifference {
  owner: string
  gone: { key: string; entry: GivenEntry }[]
  changed: { key: string; entry: GivenEntry }[]
  added: { key: string; entry: GivenEntry }[]
}

function differenceOf(owner: string, before: MetadataSet, after: MetadataSet): SetDifference {
  const kept = new Set([...after.entries.values()].flatMap(({ id }) => id ?? []))
  const known = new Map([...before.entries.values()].flatMap((entry) => (entry.id === undefined ? [] : [[entry.id, entry] as const])))
  const gone = [...before.entries].filter(([key, { id }]) => (id === undefined ? !after.entries.has(key) : !kept.has(id)))
  const fresh = [...after.entries].filter(([key, { id }]) => (id === undefined ? !before.entries.has(key) : false))
  const changed = [...after.entries].filter(([key, entry]) => {
    const was = entry.id === undefined ? before.entries.get(key) : known.get(entry.id)
    return was !== undefined && (was.giver !== entry.giver || !isSameEntry(was.value, entry.value))
  })
  const listed = (entries: [string, GivenEntry][]) => entries.map(([key, entry]) => ({ key, entry }))
  return { owner, gone: listed(gone), changed: listed(changed), added: listed(fresh) }
}

async function storeNames(trx: Knex, kind: Kind, name: 'genres' | 'tags', differences: readonly SetDifference[]): Promise<void> {
  const taxonomy = taxonomyOf(name)
  const table = `${kind}_${name}`
  const keysOf = (what: 'gone' | 'changed' | 'added') =>
    differences
      .filter((one) => one[what].length > 0)
      .map((one) => ({ owner: one.owner, keys: one[what].map(({ key }) => key), givers: one[what].map(({ entry }) => entry.giver) }))
  const given = `jsonb_to_recordset(CAST(? AS jsonb)) AS g (owner uuid, keys text[], givers text[]) CROSS JOIN LATERAL unnest(g.keys, g.givers) AS e (key, giver)
    JOIN ${name} n ON n.name_key = e.key`
  await writeInStatements(keysOf('gone'), (rows) =>
    trx.raw(`DELETE FROM ${table} j USING ${given} WHERE j.${kind}_id = g.owner AND j.${taxonomy}_id = n.id`, [rows]),
  )
  await writeInStatements(keysOf('changed'), (rows) =>
    trx.raw(`UPDATE ${table} j SET given_by = e.giver FROM ${given} WHERE j.${kind}_id = g.owner AND j.${taxonomy}_id = n.id`, [rows]),
  )
  const added = new Map(differences.flatMap((one) => one.added.map(({ key, entry }) => [key, entry.value as string] as const)))
  await ensureNames(trx, taxonomy, [...added.values()])
  await writeInStatements(keysOf('added'), (rows) =>
    trx.raw(
      `INSERT INTO ${table} (${kind}_id, ${taxonomy}_id, given_by) SELECT g.owner, n.id, e.giver FROM ${given} ORDER BY g.owner, n.id
       ON CONFLICT (${kind}_id, ${taxonomy}_id) DO UPDATE SET given_by = excluded.given_by`,
      [rows],
    ),
  )
}

/** One statement per kind of change, because each statement that changes titles rebuilds the search text of the series and its books. */
async function storeRows(trx: Knex, kind: Kind, name: RowSet, differences: readonly SetDifference[]): Promise<void> {
  const table = tableOf(kind, name)
  const columns = columnsOf(name)
  // The age of a rating counts from the last time that a source gave it.
  const now = name === 'externalRatings' ? ['fetched_at', 'updated_at'] : ['updated_at']
  const rowsOf = (what: 'gone' | 'changed' | 'added') =>
    differences.flatMap(({ owner, [what]: entries }) =>
      entries.map(({ entry: { id, value, giver } }) => ({
        ...(id !== undefined && { id }),
        [`${kind}_id`]: owner,
        given_by: giver,
        ...Object.fromEntries(columns.map(([member, column]) => [column, (value as Record<string, unknown>)[member] ?? null])),
      })),
    )
  const gone = rowsOf('gone').map(({ id }) => id as string)
  if (gone.length > 0) await trx(table).whereRaw('id = ANY(CAST(? AS uuid[]))', [gone]).delete()
  const written = [...columns.map(([, column]) => column), 'given_by']
  const rows = `jsonb_populate_recordset(NULL::${table}, CAST(? AS jsonb))`
  await writeInStatements(rowsOf('changed'), (text) =>
    trx.raw(
      `UPDATE ${table} t SET ${written.map((column) => `${column} = v.${column}`).join(', ')}, ${now.map((column) => `${column} = now()`).join(', ')}
       FROM ${rows} v WHERE t.id = v.id`,
      [text],
    ),
  )
  await writeInStatements(rowsOf('added'), (text) =>
    trx.raw(`INSERT INTO ${table} (${kind}_id, ${written.join(', ')}) SELECT ${kind}_id, ${written.join(', ')} FROM ${rows}`, [text]),
  )
}

/** Writes the stored edits; inserts the row of metadata if there is none. Sets that were not read keep theirs. */
async function storeEdits(trx: Knex, kind: Kind, changes: readonly SetsChange[]): Promise<void> {
  const { metadata, key } = TABLES[kind]
  const rows = changes.flatMap(({ before, next }) => {
    const edited = (Object.entries(next.sets) as [SetName, MetadataSet][]).filter(([name, set]) => {
      const { removed = [], replacements = 0 }: Partial<MetadataSet> = before.sets[name] ?? {}
      return (set.replacements ?? 0) !== replacements || !isDeepStrictEqual(removed, set.removed)
    })
    const edits = edited.map(([name, { removed, replacements = 0 }]) => [name, { removed, replacements }])
    return edits.length === 0 ? [] : [{ [key]: next.id, set_edits: Object.fromEntries(edits) }]
  })
  await writeInStatements(rows, (text) =>
    trx.raw(
      `INSERT INTO ${metadata} AS m (${key}, set_edits) SELECT ${key}, set_edits FROM jsonb_to_recordset(CAST(? AS jsonb)) AS r (${key} uuid, set_edits jsonb)
       ORDER BY ${key} ON CONFLICT (${key}) DO UPDATE SET set_edits = m.set_edits || excluded.set_edits`,
      [text],
    ),
  )
}
