import t, { type Test } from 'tap'
import { listBooks } from '#core/catalog/book-query.ts'
import { compileFilter } from '#core/catalog/filter-query.ts'
import { listAlphabeticalGroups, listSeries } from '#core/catalog/series-query.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addPeople, addSeries, shareSeries } from '#test/support/library-rows.ts'

const NOWHERE = '00000000-0000-4000-8000-000000000000'
const is = (value: string) => ({ operator: 'is', value })
const text = (operator: string, value?: string) => ({ operator, ...(value !== undefined && { value }) })

async function openShelf(t: Test) {
  const { database } = await openTestDatabase(t)
  const caller = await addCaller(database, { role: 'admin' })
  const library_id = await addLibrary(database)
  const other = await addLibrary(database, { name: 'Other' })
  const akira = await addSeries(database, { library_id, title: 'Akira', title_sort: 'akira' })
  const bone = await addSeries(database, { library_id, title: 'Bone 100%_a\\b' })
  const eden = await addSeries(database, { library_id: other, title: 'Éden' })
  await database('series_metadata').insert([
    {
      series_id: akira,
      publisher: 'Kodansha',
      status: 'ended',
      language: 'ja',
      year: 1982,
      total_volume_count: 2,
    },
    { series_id: bone, publisher: "Cartoon ' Books", status: 'ongoing', year: 1991, total_volume_count: 9 },
  ])
  await addPeople(database, { kind: 'series', id: akira }, [{ name: 'Otomo', role: 'writer' }])
  const [action] = await database('genres').insert({ name: 'Action', name_key: 'action' }, 'id')
  const [old] = await database('tags').insert({ name: 'Old School', name_key: 'old school' }, 'id')
  await database('series_genres').insert({ series_id: akira, genre_id: action.id })
  await database('series_tags').insert({ series_id: bone, tag_id: old.id })
  const books: Record<string, string> = {}
  const add = async (name: string, series_id: string, row: Record<string, unknown> = {}) => {
    books[name] = await addBook(database, { library_id: series_id === eden ? other : library_id, series_id, title: name, ...row })
  }
  await add('a1', akira, { number: 1, page_count: 10, created_at: '2024-02-28T23:59:59Z' })
  await add('a2', akira, { number: 2, page_count: 20, created_at: '2024-02-29T12:00:00Z' })
  await add('b1', bone, { number: 1.5, page_count: 30, file_format: 'pdf', created_at: '2024-03-01T00:00:00Z' })
  await add('e1', eden, { page_count: 40, state: 'failed', created_at: '2024-03-02T00:00:00Z', updated_at: '2024-03-03T00:00:00Z' })
  await database('book_metadata').insert({ book_id: books.a1, book_type: 'manga', summary: 'Neo-Tokyo', year: 1982 })
  const [ada, moore] = [
    { name: 'Ada 100%', role: 'writer' as const },
    { name: 'Alan  Moore', role: 'inker' as const },
  ]
  await addPeople(database, { kind: 'book', id: books['a2'] as string }, [ada, moore])
  await addPeople(database, { kind: 'book', id: books['b1'] as string }, [{ ...moore, name: 'ALAN MOORE', role: 'writer' }])
  await database('book_tags').insert({ book_id: books.e1, tag_id: old.id })
  await database('book_errors').insert({ book_id: books.e1, error_type: 'parser', message: 'x', fatal: true })
  const mark = (book: string, completed: boolean) =>
    database('read_progress').insert({ user_id: caller.userId, book_id: books[book], current_page: 1, completed })
  await mark('a1', true)
  await mark('b1', false)
  await database('series_user_ratings').insert({ user_id: caller.userId, series_id: akira, rating: 90 })
  const list = async (kind: 'books' | 'series', condition: unknown, asker = caller) => {
    const filter = { condition: compileFilter(condition, kind, asker) }
    const page = { filter, sort: null, offset: 0, limit: 50 }
    const { items, total } = kind === 'books' ? await listBooks(database, asker, page) : await listSeries(database, asker, page)
    t.equal(items.length, total)
    return items.map(({ title }) => title).sort()
  }
  return { database, caller, library_id, other, akira, bone, eden, books, list }
}

t.test('every field and operator of books', async (t) => {
  const { list, other, akira, books, database } = await openShelf(t)
  const [read] = await database('read_lists').insert({ name: 'L' }, 'id')
  await database('read_list_books').insert({ read_list_id: read.id, book_id: books.a2, position: 0 })
  const table: [unknown, string[]][] = [
    [{ title: is('A1') }, ['a1']],
    [{ title: text('isNot', 'a1') }, ['a2', 'b1', 'e1']],
    [{ title: text('contains', 'A') }, ['a1', 'a2']],
    [{ title: text('doesNotContain', 'a') }, ['b1', 'e1']],
    [{ title: text('beginsWith', 'b') }, ['b1']],
    [{ title: text('endsWith', '1') }, ['a1', 'b1', 'e1']],
    [{ title: text('contains', '%') }, []],
    [{ title: text('contains', '_') }, []],
    [{ titleSort: is('a1') }, ['a1']],
    [{ summary: text('isNull') }, ['a2', 'b1', 'e1']],
    [{ summary: text('isNotNull') }, ['a1']],
    [{ summary: text('isNot', 'Neo-Tokyo') }, ['a2', 'b1', 'e1']],
    [{ summary: text('doesNotContain', 'tokyo') }, ['a2', 'b1', 'e1']],
    [{ bookType: is('manga') }, ['a1']],
    [{ bookType: text('isNot', 'manga') }, ['a2', 'b1', 'e1']],
    [{ author: is(' alan moore ') }, ['a2', 'b1']],
    [{ author: text('isNot', 'Alan Moore') }, ['a1', 'e1']],
    [{ author: text('contains', 'N M') }, ['a2', 'b1']],
    [{ author: text('contains', '%') }, ['a2']],
    [{ author: text('beginsWith', 'moore') }, []],
    [{ author: text('endsWith', 'Moore') }, ['a2', 'b1']],
    [{ author: text('isNull') }, ['a1', 'e1']],
    [{ author: text('isNotNull') }, ['a2', 'b1']],
    [{ person: is('Writer:alan moore') }, ['b1']],
    [{ person: is('alan moore') }, []],
    [{ person: text('isNot', 'writer:Alan Moore') }, ['a1', 'a2', 'e1']],
    [{ person: text('beginsWith', 'writer:') }, ['a2', 'b1']],
    [{ person: text('beginsWith', 'inker:al') }, ['a2']],
    [{ person: text('contains', 'er:alan') }, ['a2', 'b1']],
    [{ not: { author: is('Ada 100%') } }, ['a1', 'b1', 'e1']],
    [{ genre: is(' action ') }, ['a1', 'a2']],
    [{ genre: text('isNot', 'Action') }, ['b1', 'e1']],
    [{ genre: text('isNull') }, ['b1', 'e1']],
    [{ genre: text('isNotNull') }, ['a1', 'a2']],
    [{ tag: text('contains', 'school') }, ['b1', 'e1']],
    [{ tag: text('doesNotContain', 'school') }, ['a1', 'a2']],
    [{ libraryId: is(other) }, ['e1']],
    [{ libraryId: { operator: 'notIn', values: [other] } }, ['a1', 'a2', 'b1']],
    [{ seriesId: { operator: 'in', values: [akira, NOWHERE] } }, ['a1', 'a2']],
    [{ seriesId: text('isNot', akira) }, ['b1', 'e1']],
    [{ id: { operator: 'in', values: [books['a2'], books['e1'], NOWHERE] } }, ['a2', 'e1']],
    [{ id: { operator: 'notIn', values: [books['a2']] } }, ['a1', 'b1', 'e1']],
    [{ id: is(books['b1'] as string) }, ['b1']],
    [{ readStatus: is('read') }, ['a1']],
    [{ readStatus: is('in_progress') }, ['b1']],
    [{ readStatus: is('unread') }, ['a2', 'e1']],
    [{ readStatus: text('isNot', 'unread') }, ['a1', 'b1']],
    [{ hasError: { operator: 'isTrue' } }, ['e1']],
    [{ hasError: { operator: 'isFalse' } }, ['a1', 'a2', 'b1']],
    [{ pageCount: { operator: 'gt', value: 20 } }, ['b1', 'e1']],
    [{ pageCount: { operator: 'lte', value: 20 } }, ['a1', 'a2']],
    [{ pageCount: { operator: 'between', min: 20, max: 30 } }, ['a2', 'b1']],
    [{ pageCount: { operator: 'between', max: 10 } }, ['a1']],
    [{ pageCount: { operator: 'ne', value: 10 } }, ['a2', 'b1', 'e1']],
    [{ number: { operator: 'eq', value: 1.5 } }, ['b1']],
    [{ number: { operator: 'ne', value: 1.5 } }, ['a1', 'a2', 'e1']],
    [{ number: { operator: 'isNull' } }, ['e1']],
    [{ year: { operator: 'eq', value: 1982 } }, ['a1']],
    [{ dateAdded: { operator: 'after', value: '2024-02-29' } }, ['b1', 'e1']],
    [{ dateAdded: { operator: 'onOrAfter', value: '2024-02-29' } }, ['a2', 'b1', 'e1']],
    [{ dateAdded: { operator: 'before', value: '2024-02-29' } }, ['a1']],
    [{ dateAdded: { operator: 'onOrBefore', value: '2024-02-29' } }, ['a1', 'a2']],
    [{ dateAdded: { operator: 'after', value: '2024-02-29T12:00:00Z' } }, ['b1', 'e1']],
    [{ dateAdded: { operator: 'between', start: '2024-02-29', end: '2024-02-29' } }, ['a2']],
    [{ dateAdded: { operator: 'between', end: '2024-03-01T00:00:00Z' } }, ['a1', 'a2', 'b1']],
    [{ updatedAt: { operator: 'before', value: '2024-03-04' } }, ['e1']],
    [{ updatedAt: { operator: 'after', value: '2024-03-04' } }, ['a1', 'a2', 'b1']],
    [{ format: is('PDF') }, ['b1']],
    [{ path: text('contains', '/shelf/') }, ['a1', 'a2', 'b1', 'e1']],
    [{ inReadList: { operator: 'isTrue' } }, ['a2']],
    [{ readListId: is(read.id) }, ['a2']],
    [{ readListId: text('isNot', read.id) }, ['a1', 'b1', 'e1']],
    [{ allOf: [] }, ['a1', 'a2', 'b1', 'e1']],
    [{ anyOf: [] }, []],
    [{ not: { summary: is('Neo-Tokyo') } }, ['a2', 'b1', 'e1']],
    [{ anyOf: [{ title: is('e1') }, { allOf: [{ genre: is('action') }, { not: { readStatus: is('read') } }] }] }, ['a2', 'e1']],
  ]
  for (const [condition, expected] of table) t.same(await list('books', condition), expected, JSON.stringify(condition))
})

t.test('every field and operator of series', async (t) => {
  const { list, other, akira, database, caller } = await openShelf(t)
  const B = 'Bone 100%_a\\b'
  const [shelf] = await database('collections').insert({ name: 'C' }, 'id')
  await database('collection_series').insert({ collection_id: shelf.id, series_id: akira, position: 0 })
  await database('want_to_read').insert({ user_id: caller.userId, series_id: akira })
  await database('series_external_ids').insert({ series_id: akira, source: 'plugin:x', external_id: '1' })
  await database('series_user_ratings').insert({ user_id: (await addCaller(database)).userId, series_id: akira, rating: 50 })
  const table: [unknown, string[]][] = [
    [{ name: text('contains', '100%_a\\b') }, [B]],
    [{ name: text('contains', '0%%_') }, []],
    [{ title: text('beginsWith', 'É') }, ['Éden']],
    [{ titleSort: is('AKIRA') }, ['Akira']],
    [{ publisher: is(`cartoon ' books`) }, [B]],
    [{ publisher: text('isNot', 'Kodansha') }, [B, 'Éden']],
    [{ status: is('ended') }, ['Akira']],
    [{ language: text('isNull') }, [B, 'Éden']],
    [{ summary: text('isNotNull') }, []],
    [{ author: text('contains', 'otom') }, ['Akira']],
    [{ author: text('isNull') }, [B, 'Éden']],
    [{ bookAuthor: is('Alan Moore') }, ['Akira', B]],
    [{ bookAuthor: text('isNot', 'ada 100%') }, [B, 'Éden']],
    [{ person: is('writer:otomo') }, ['Akira']],
    [{ person: is('writer:alan moore') }, [B]],
    [{ genre: is('ACTION') }, ['Akira']],
    [{ tag: text('isNot', 'old school') }, ['Akira', 'Éden']],
    [{ libraryId: is(other) }, ['Éden']],
    [{ id: { operator: 'in', values: [akira, NOWHERE] } }, ['Akira']],
    [{ id: { operator: 'notIn', values: [akira] } }, [B, 'Éden']],
    [{ readStatus: is('read') }, []],
    [{ readStatus: is('in_progress') }, ['Akira', B]],
    [{ readStatus: text('isNot', 'in_progress') }, ['Éden']],
    [{ readStatus: is('unread') }, ['Éden']],
    [{ completion: { operator: 'isTrue' } }, ['Akira']],
    [{ completion: { operator: 'isFalse' } }, [B]],
    [{ hasExternalSourceId: { operator: 'isTrue' } }, ['Akira']],
    [{ hasUserRating: { operator: 'isFalse' } }, [B, 'Éden']],
    [{ userRating: { operator: 'gte', value: 90 } }, ['Akira']],
    [{ userRating: { operator: 'isNull' } }, [B, 'Éden']],
    [{ communityRating: { operator: 'between', min: 70, max: 70 } }, ['Akira']],
    [{ year: { operator: 'lt', value: 1990 } }, ['Akira']],
    [{ dateAdded: { operator: 'after', value: '2024-01-01' } }, ['Akira', B, 'Éden']],
    [{ updatedAt: { operator: 'after', value: '2024-01-01' } }, ['Akira', B, 'Éden']],
    [{ updatedAt: { operator: 'before', value: '2024-01-01' } }, []],
    [{ inCollection: { operator: 'isTrue' } }, ['Akira']],
    [{ collectionId: is(shelf.id) }, ['Akira']],
    [{ collectionId: { operator: 'notIn', values: [shelf.id] } }, [B, 'Éden']],
    [{ wantToRead: { operator: 'isTrue' } }, ['Akira']],
    [{ path: text('contains', 'akira') }, ['Akira']],
    [{ sharingTag: text('isNull') }, ['Akira', B, 'Éden']],
  ]
  for (const [condition, expected] of table) t.same(await list('series', condition), expected, JSON.stringify(condition))
  t.same(await listAlphabeticalGroups(database, caller, {}), [
    { group: 'a', count: 1 },
    { group: 'b', count: 1 },
    { group: 'e', count: 1 },
  ])
  const reader = await addCaller(database)
  t.throws(() => compileFilter({ sharingTag: text('isNull') }, 'series', reader), { code: 'forbidden' })
  await shareSeries(database, { seriesId: akira, caller: reader, mode: 'deny' })
  t.same(await list('series', { not: { title: is('x') } }, reader), [B, 'Éden'], 'a filter opens no doors')
  t.same(await list('series', { id: { operator: 'in', values: [akira] } }, reader), [])
  t.same(await list('books', { anyOf: [{ allOf: [] }, { seriesId: is(akira) }] }, reader), ['b1', 'e1'])
})

t.test('values of conditions never become part of a statement', async (t) => {
  const { list, database } = await openShelf(t)
  for (const value of [`'; DROP TABLE books; --`, '?', '??', ':id', '$1', '\\', "\\'", '%\\%']) {
    for (const operator of ['is', 'isNot', 'contains', 'doesNotContain', 'beginsWith', 'endsWith']) {
      for (const field of ['title', 'genre', 'summary']) await list('books', { [field]: { operator, value } })
    }
  }
  t.equal((await database('books').select('id')).length, 4)
})
