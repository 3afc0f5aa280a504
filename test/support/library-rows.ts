import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { ROLE_PERMISSIONS, type Role } from '#core/account/permission.ts'
import type { Author } from '#core/fields/field.ts'
import { storePeople } from '#core/metadata/people-store.ts'

/** Inserts a user directly and returns the caller that a signed-in request would have. */
export async function addCaller(database: Knex, options: { role?: Role; username?: string } = {}): Promise<Caller> {
  const role = options.role ?? 'reader'
  const username = options.username ?? `user-${randomUUID().slice(0, 8)}`
  const [user] = await database('users').insert({ username, email: `${username}@example.org`, password_hash: 'x', role }, 'id')
  return { userId: user.id, username, permissions: new Set(ROLE_PERMISSIONS[role]), narrowedBy: null, via: 'token' }
}

/** Inserts a plugin with granted permissions and this name of its service; it cannot run. */
export async function addServicePlugin(database: Knex, idSource: string): Promise<void> {
  const [plugin] = await database('plugins').insert({ key: `org.example.${idSource}` }, 'id')
  const manifest = JSON.stringify({ capabilities: { 'metadata.book': { methods: ['get'], idSource } } })
  const rows = database('plugin_versions').insert(
    { plugin_id: plugin.id, version: '1.0.0', sha256: '', code: '', code_sha256: '', manifest },
    'id',
  )
  const [version] = await rows
  await database('plugins').where('id', plugin.id).update({ version_id: version.id })
}

export async function addLibrary(
  database: Knex,
  row: { path?: string; name?: string; default_reading_direction?: string } = {},
): Promise<string> {
  const [library] = await database('libraries').insert({ name: 'Shelf', path: `/shelf/${randomUUID()}`, ...row }, 'id')
  return library.id
}

export async function addSeries(
  database: Knex,
  row: { library_id: string; title: string; path?: string; title_sort?: string | null; reading_direction?: string | null },
): Promise<string> {
  const [series] = await database('series').insert({ path: `${row.title}-${randomUUID()}`, ...row }, 'id')
  return series.id
}

/** Adds a book; missing values are those of a plausible analyzed book. */
export async function addBook(
  database: Knex,
  row: { library_id: string; series_id: string; title: string } & Record<string, unknown>,
): Promise<string> {
  const [book] = await database('books').insert(
    {
      path: `/shelf/${randomUUID()}/${row.title}.cbz`,
      file_name: `${row.title}.cbz`,
      file_format: 'cbz',
      file_size: 1000,
      file_mtime_ns: '1700000000123456789',
      file_hash: randomUUID().replaceAll('-', '').repeat(2),
      reader_hash: randomUUID().replaceAll('-', ''),
      state: 'analyzed',
      analyzed_at: new Date(),
      ...row,
    },
    'id',
  )
  return book.id
}

/** Adds people to a book or series, as the metadata store does. */
export async function addPeople(database: Knex, owner: { kind: 'book' | 'series'; id: string }, authors: Author[]): Promise<void> {
  const key = `${owner.kind}_id`
  await database(`${owner.kind}_metadata`)
    .insert({ [key]: owner.id, authors: JSON.stringify(authors) })
    .onConflict(key)
    .merge(['authors'])
  await storePeople(database, owner.kind, [{ id: owner.id, authors }])
}

/** Tags the series, and allows or denies the caller entities with the tag. */
export async function shareSeries(
  database: Knex,
  share: { seriesId: string; caller: Pick<Caller, 'userId'>; mode: 'allow' | 'deny' },
): Promise<void> {
  const [tag] = await database('sharing_tags').insert({ name: `tag-${randomUUID()}` }, 'id')
  await database('series_sharing_tags').insert({ series_id: share.seriesId, sharing_tag_id: tag.id })
  await database('user_sharing_grants').insert({ user_id: share.caller.userId, sharing_tag_id: tag.id, access_mode: share.mode })
}

/** Entries in lists of people without a row, and rows without an entry; there must be none after any change of metadata. */
export async function listOrphanedPeople(database: Knex): Promise<object[]> {
  const selects = ['book', 'series'].map(
    (kind) => `(
      WITH given AS (
        SELECT m.${kind}_id AS owner, a.at - 1 AS position, a.value ->> 'role' AS role,
          lower(regexp_replace(btrim(a.value ->> 'name'), '\\s+', ' ', 'g')) AS key
        FROM ${kind}_metadata m CROSS JOIN LATERAL jsonb_array_elements(m.authors) WITH ORDINALITY AS a (value, at)
      ), stored AS (
        SELECT x.${kind}_id AS owner, x.position::bigint, x.role, p.name_key AS key FROM ${kind}_people x JOIN people p ON p.id = x.person_id
      )
      (TABLE given EXCEPT TABLE stored) UNION ALL (TABLE stored EXCEPT TABLE given)
    )`,
  )
  return (await database.raw(selects.join(' UNION ALL '))).rows
}
