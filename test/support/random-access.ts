import type { Knex } from 'knex'
import type { AgeRule } from '#core/account/access.ts'
import type { Viewer } from '#core/account/visibility.ts'
import { computeSeriesNumbers } from '#core/catalog/series-numbers-store.ts'
import { addUpKeptNumbers } from '#core/paging/kept-number-store.ts'
import { addTestKey, type RuleOwner, rateSeries, setTestRule } from '#test/support/access-rules.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

/** Random changes of a small catalog and of who may see what, and the rules again, in plain JavaScript over plain rows. */

/** What one change does, by three numbers that choose its rows and values. */
type Change = (database: Knex, choice: readonly [number, number, number]) => Promise<unknown>

const AGES = [null, 0, 6, 12, 13, 16, 18, 99]
const YEARS = [0, 6, 12, 16, 18, 99]

const pick = <Item>(all: readonly Item[], choice: number): Item | undefined => all[choice % all.length]

/** Titles tell in which order the rows were added. */
const titleOf = (at: number) => String(at).padStart(6, '0')
let added = 0

const ORDERS: Record<string, string> = { libraries: 'name', users: 'username', api_keys: 'created_at', sharing_tags: 'name' }
const idsOf = (database: Knex, table: string): Promise<string[]> =>
  database(table)
    .orderBy(ORDERS[table] ?? 'title')
    .pluck('id')

/** Runs for the chosen row, unless the table is empty. */
async function withRow(database: Knex, table: string, choice: number, run: (id: string) => Promise<unknown>): Promise<void> {
  const id = pick(await idsOf(database, table), choice)
  if (id !== undefined) await run(id)
}

function ageOf(choice: number): AgeRule | undefined {
  if (choice % 3 === 0) return undefined
  const unrated = choice % 2 === 0 ? 'show' : 'hide'
  return { mode: choice % 3 === 1 ? 'up_to' : 'not_from', years: pick(YEARS, choice >> 2) as number, unrated }
}

/** Of a series that stays where it is until the end of the transaction; empty if it was removed meanwhile. */
const librariesOfSeries = (database: Knex, seriesId: string): Promise<string[]> =>
  database('series').where('id', seriesId).forShare().pluck('library_id')

async function moveBook(database: Knex, bookId: string, series_id: string): Promise<void> {
  for (const library_id of await librariesOfSeries(database, series_id))
    await database('books').where('id', bookId).update({ series_id, library_id })
}

async function toggle(database: Knex, table: string, row: Record<string, string>): Promise<void> {
  if ((await database(table).where(row).delete()) === 0) await database(table).insert(row)
}

async function moveSeries(database: Knex, id: string, library_id: string): Promise<void> {
  await database('series').where('id', id).update({ library_id })
  await database('books').where('series_id', id).update({ library_id })
}

async function grant(database: Knex, row: { user_id: string; sharing_tag_id: string }, access_mode: string | null): Promise<void> {
  await database('user_sharing_grants').where(row).delete()
  if (access_mode) await database('user_sharing_grants').insert({ ...row, access_mode })
}

/** Changes of what there is, which may happen at the same time. */
export const CATALOG_CHANGES: Readonly<Record<string, Change>> = {
  addSeries: (database, [at]) =>
    withRow(database, 'libraries', at, (library_id) => addSeries(database, { library_id, title: titleOf(added++) })),
  addBook: (database, [at]) =>
    withRow(database, 'series', at, async (series_id) => {
      for (const library_id of await librariesOfSeries(database, series_id))
        await addBook(database, { library_id, series_id, title: titleOf(added++) })
    }),
  removeBook: (database, [at]) => withRow(database, 'books', at, (id) => database('books').where({ id }).delete()),
  loseBook: (database, [at]) => withRow(database, 'books', at, (id) => database('books').where({ id }).update({ deleted_at: new Date() })),
  findBook: (database, [at]) => withRow(database, 'books', at, (id) => database('books').where({ id }).update({ deleted_at: null })),
  moveBook: (database, [at, to]) =>
    withRow(database, 'books', at, (bookId) => withRow(database, 'series', to, (seriesId) => moveBook(database, bookId, seriesId))),
  moveSeries: (database, [at, to]) =>
    withRow(database, 'series', at, (id) => withRow(database, 'libraries', to, (libraryId) => moveSeries(database, id, libraryId))),
  removeSeries: (database, [at]) => withRow(database, 'series', at, (id) => database('series').where({ id }).delete()),
  rate: (database, [at, to]) => withRow(database, 'series', at, (id) => rateSeries(database, id, pick(AGES, to) as number | null)),
  unrate: (database, [at]) => withRow(database, 'series', at, (id) => database('series_metadata').where('series_id', id).delete()),
  tag: (database, [at, to]) =>
    withRow(database, 'series', at, (series_id) =>
      withRow(database, 'sharing_tags', to, (sharing_tag_id) => toggle(database, 'series_sharing_tags', { series_id, sharing_tag_id })),
    ),
  computeNumbers: (database) => computeSeriesNumbers(database),
  addUpNumbers: (database) => addUpKeptNumbers(database),
}

/** Changes of who may see what. */
export const ACCESS_CHANGES: Readonly<Record<string, Change>> = {
  ruleUser: (database, [at, libraries, age]) => withRow(database, 'users', at, (id) => ruleOf(database, { user_id: id }, libraries, age)),
  ruleKey: (database, [at, libraries, age]) =>
    withRow(database, 'api_keys', at, (id) => ruleOf(database, { api_key_id: id }, libraries, age)),
  grant: (database, [at, to, mode]) =>
    withRow(database, 'users', at, (user_id) =>
      withRow(database, 'sharing_tags', to, (sharing_tag_id) =>
        grant(database, { user_id, sharing_tag_id }, pick(['allow', 'deny', null], mode) ?? null),
      ),
    ),
  disableUser: (database, [at, to]) =>
    withRow(database, 'users', at, (id) =>
      database('users')
        .where({ id })
        .update({ is_active: to % 3 > 0 }),
    ),
  // Rarely, because nothing adds one.
  removeKey: async (database, [at]) => at > 80 && withRow(database, 'api_keys', at, (id) => database('api_keys').where({ id }).delete()),
  replaceLibrary: (database, [at]) =>
    withRow(database, 'libraries', at, async (id) => {
      await database('libraries').where({ id }).delete()
      await addLibrary(database, { name: titleOf(added++) })
    }),
}

async function ruleOf(database: Knex, owner: RuleOwner, libraries: number, age: number): Promise<void> {
  const listed = (await idsOf(database, 'libraries')).filter((_, at) => (libraries >> (at + 1)) & 1)
  const aged = ageOf(age)
  const rule = { ...(libraries % 2 === 0 && { libraries: listed }), ...(aged && { age: aged }) }
  await setTestRule(database, owner, Object.keys(rule).length === 0 ? null : rule)
}

/** Empties the catalog and the accounts, and fills them: three libraries with series and books, three users with rules, and keys of two of them. */
export async function openRandomWorld(database: Knex): Promise<Viewer[]> {
  for (const table of ['libraries', 'users', 'sharing_tags']) await database(table).delete()
  for (let at = 0; at < 3; at++) {
    const library_id = await addLibrary(database, { name: titleOf(added++) })
    for (let of = 0; of < 2; of++) {
      const series_id = await addSeries(database, { library_id, title: titleOf(added++) })
      for (let book = 0; book <= of; book++) await addBook(database, { library_id, series_id, title: titleOf(added++) })
      await rateSeries(database, series_id, AGES[(at * 2 + of) % AGES.length] as number | null)
    }
  }
  const tags = await database('sharing_tags').insert([{ name: 'one' }, { name: 'two' }], ['id'])
  const viewers: Viewer[] = []
  for (let at = 0; at < 3; at++)
    viewers.push({ userId: (await addCaller(database, { username: titleOf(added++) })).userId, narrowedBy: null })
  for (const { userId } of viewers.slice(0, 2)) viewers.push({ userId, narrowedBy: await addTestKey(database, userId) })
  await setTestRule(database, { user_id: viewers[0]?.userId as string }, { age: { mode: 'up_to', years: 12, unrated: 'hide' } })
  for (const [at, access_mode] of ['deny', 'allow'].entries())
    await grant(database, { user_id: viewers[at + 1]?.userId as string, sharing_tag_id: tags[at].id }, access_mode)
  await computeSeriesNumbers(database)
  return viewers
}

type Row = Record<string, unknown>

/** All rows on which it depends who sees what. */
export async function readFacts(database: Knex): Promise<Record<string, Row[]>> {
  const tables = [
    'libraries',
    'books',
    'users',
    'api_keys',
    'access_rules',
    'access_libraries',
    'user_sharing_grants',
    'series_sharing_tags',
  ]
  const rows = await Promise.all(tables.map(async (table) => [table, await database(table).select('*')] as const))
  const series = await database('series AS s')
    .leftJoin('series_metadata AS m', 'm.series_id', 's.id')
    .select('s.id', 's.library_id', 'm.age_rating')
  return { ...Object.fromEntries(rows), series }
}

type Facts = Awaited<ReturnType<typeof readFacts>>

const isOfAge = (rule: Row, age: number | null): boolean => {
  if (rule['age_mode'] === null) return true
  if (age === null) return rule['shows_unrated'] === true
  return rule['age_mode'] === 'up_to' ? age <= Number(rule['age_years']) : age < Number(rule['age_years'])
}

/** Which libraries and series a viewer sees, by the facts alone. */
export function seenBy(facts: Facts, { userId, narrowedBy }: Viewer): { libraries: string[]; series: string[] } {
  const rowsOf = (table: string): Row[] => facts[table] ?? []
  const isThere =
    rowsOf('users').some((user) => user['id'] === userId && user['is_active'] === true) &&
    (narrowedBy === null || rowsOf('api_keys').some((key) => key['id'] === narrowedBy))
  if (!isThere) return { libraries: [], series: [] }
  const rules = rowsOf('access_rules').filter((rule) => [userId, narrowedBy].includes(rule['viewer_id'] as string))
  const isListed = (rule: Row, library: unknown) =>
    rule['all_libraries'] === true ||
    rowsOf('access_libraries').some((listed) => listed['viewer_id'] === rule['viewer_id'] && listed['library_id'] === library)
  const libraries = rowsOf('libraries').filter(({ id }) => rules.every((rule) => isListed(rule, id)))
  const grants = (mode: string) =>
    rowsOf('user_sharing_grants').filter((grant) => grant['user_id'] === userId && grant['access_mode'] === mode)
  const tagsOf = (id: unknown) => rowsOf('series_sharing_tags').filter((tag) => tag['series_id'] === id)
  const hasOne = (id: unknown, of: Row[]) => tagsOf(id).some((tag) => of.some((grant) => grant['sharing_tag_id'] === tag['sharing_tag_id']))
  const [allowed, denied] = [grants('allow'), grants('deny')]
  const series = rowsOf('series').filter(
    ({ id, library_id, age_rating }) =>
      libraries.some((library) => library['id'] === library_id) &&
      rules.every((rule) => isOfAge(rule, age_rating as number | null)) &&
      !hasOne(id, denied) &&
      (allowed.length === 0 || hasOne(id, allowed)),
  )
  return { libraries: libraries.map(({ id }) => id as string), series: series.map(({ id }) => id as string) }
}
