import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { nameKeyPart } from '#core/metadata/name.ts'
import { type VocabularyScope, visibleSeries } from '#core/metadata/vocabulary-query.ts'

/** Which people to list. */
interface PeopleList extends VocabularyScope {
  /** Part of the name, ignoring case and accents. */
  search?: string | undefined
  /** By its name in the list. */
  role?: string | undefined
  /** Names of roles that differ in the list. */
  renamed: Readonly<Record<string, string>>
  offset: number
  limit: number
}

interface ListedPerson {
  name: string
  role: string
  /** In how many series that the caller may see the person has a role of the list. */
  seriesCount: number
}

/** People of books and series that the caller may see, each once for every role, by name. */
export async function listPeople(database: Knex, caller: Caller, list: PeopleList): Promise<{ items: ListedPerson[]; total: number }> {
  const [items, counted] = await Promise.all([
    // Person by person, in the order of an index: a page ends as soon as it is full.
    database
      .from('people AS p')
      .crossJoin(database.raw('LATERAL ? AS r', [countedRoles(database, caller, list)]))
      .modify(matchesName(list))
      .select('p.name', 'r.role', database.raw('r.series_count AS "seriesCount"'))
      .orderByRaw('p.name COLLATE carrel_natural, r.role')
      .offset(list.offset)
      .limit(list.limit) as Promise<ListedPerson[]>,
    // In one pass: counting person by person takes several times as long.
    database
      .from(rolesOf(database, caller, list, false).as('r'))
      .join('people AS p', 'p.id', 'r.person_id')
      .modify(matchesName(list))
      .count({ total: '*' })
      .first(),
  ])
  return { items, total: Number(counted?.['total']) }
}

/** The first people by name, each once with its roles, whose name contains this text; of books and series that the caller may see. */
export async function findPeople(
  database: Knex,
  caller: Caller,
  { search, limit }: { search: string; limit: number },
): Promise<{ name: string; roles: string[] }[]> {
  const list = { search, renamed: {}, offset: 0, limit }
  const roles = database
    .from(rolesOf(database, caller, list, true).as('of'))
    .select(database.raw('array_agg(DISTINCT role ORDER BY role) AS roles'))
  return await database
    .from('people AS p')
    .crossJoin(database.raw('LATERAL ? AS r', [roles]))
    .modify(matchesName(list))
    .whereNotNull('r.roles')
    .select('p.name', 'r.roles')
    .orderByRaw('p.name COLLATE carrel_natural, p.id')
    .limit(limit)
}

const matchesName =
  ({ search }: PeopleList) =>
  (query: Knex.QueryBuilder): void => {
    if (search) query.whereRaw(`p.name_fold LIKE '%' || carrel_pattern(?) || '%'`, [nameKeyPart(search)])
  }

/** The roles of the person `p` of the outer statement, each with the number of series that the person has any of them in. */
const countedRoles = (database: Knex, caller: Caller, list: PeopleList): Knex.QueryBuilder =>
  database
    .from(rolesOf(database, caller, list, true).as('of'))
    .select(database.raw('unnest(array_agg(DISTINCT role)) AS role, count(DISTINCT series_id)::int AS series_count'))

/** The people with their roles, as renamed; `ofEach`: the roles of the person `p` of the outer statement, once for each series. */
function rolesOf(database: Knex, caller: Caller, list: PeopleList, ofEach: boolean): Knex.QueryBuilder {
  const rows = (from: string, seriesId: string) => {
    const query = database
      .from(database.raw(from))
      .join(database.raw('? AS v', [visibleSeries(database, caller, list)]), 'v.id', seriesId)
      .select('x.person_id', database.raw('coalesce(CAST(? AS jsonb) ->> x.role, x.role) AS role', [JSON.stringify(list.renamed)]))
    return ofEach ? query.whereRaw('x.person_id = p.id').select(database.raw('?? AS series_id', [seriesId])) : query
  }
  const ofBooks = rows('book_people x JOIN books b ON b.id = x.book_id AND b.deleted_at IS NULL', 'b.series_id')
  const ofSeries = rows('series_people x', 'x.series_id')
  const query = database.from(database.union([ofBooks, ofSeries]).as('people')).select('*')
  if (list.role) query.whereRaw('lower(role) = lower(?)', [list.role])
  return query
}
