import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { recordDuplicates } from '#core/catalog/duplicate-store.ts'
import { addBook, addSeries } from '#test/support/library-rows.ts'
import { addRunningTask } from '#test/support/task-queues.ts'

/** What walks look for: series with all that can belong to a series, which is open to some and hidden from others. */

export interface Ids {
  libraryId: string
  jobId: string
  bookId: string
  seriesId: string
  collectionId: string
  readListId: string
  coverId: string
  taskId: string
  tagId: string
  genreId: string
  userId: string
  /** Of what a plugin said of the series. */
  applicationId: string
  annotationId: string
}

export const newIds = (known: Partial<Ids>): Ids => ({
  libraryId: randomUUID(),
  jobId: randomUUID(),
  bookId: randomUUID(),
  seriesId: randomUUID(),
  collectionId: randomUUID(),
  readListId: randomUUID(),
  coverId: randomUUID(),
  taskId: randomUUID(),
  tagId: randomUUID(),
  genreId: randomUUID(),
  userId: randomUUID(),
  applicationId: randomUUID(),
  annotationId: randomUUID(),
  ...known,
})

export async function namesOf(database: Knex, table: string, names: [string, string]): Promise<[string, string]> {
  const rows = names.map((name) => ({ name, ...(table !== 'sharing_tags' && { name_key: name.toLowerCase() }) }))
  const [first, second] = await database(table).insert(rows, ['id'])
  return [first.id, second.id]
}

/** Books of all worlds have the same file, and others the same pages. */
const SAME_FILE = 'd'.repeat(64)
const SAME_PAGES = 'e'.repeat(64)

/** A series of two books with all that can belong to a series, which stands also on the shelves of another one. */
export async function addWorld(
  database: Knex,
  world: {
    ids: Ids
    word: string
    age: number | null
    shelves: Ids | null
    carries: number[]
    sharingTag: number
    tagIds: string[]
    genreIds: string[]
    tagNameIds: string[]
    userIds: string[]
  },
): Promise<void> {
  const { ids, word, age, shelves, carries, userIds } = world
  const { libraryId, seriesId, bookId } = ids
  await database.transaction(async (trx) => {
    await addSeries(trx, { id: seriesId, library_id: libraryId, title: `${word} Saga`, title_sort: `${word} Saga` } as never)
    await trx('series_sharing_tags').insert({ series_id: seriesId, sharing_tag_id: world.tagIds[world.sharingTag] })
    const book = { library_id: libraryId, series_id: seriesId, page_count: 9, page_source: 'zip', volume: 1 }
    const added = (day: number) => ({ created_at: new Date(Date.UTC(2026, 0, day)) })
    await addBook(trx, {
      ...book,
      id: bookId,
      title: `${word} One`,
      number: 1,
      cover_hash: 'c0ffee',
      ...added(1),
      file_hash: SAME_FILE,
      pages_hash: SAME_PAGES,
    })
    const secondId = await addBook(trx, { ...book, title: `${word} Two`, number: 2, state: 'failed', ...added(2), file_hash: SAME_FILE })
    const goneId = await addBook(trx, { ...book, title: `${word} Gone`, number: 3, deleted_at: new Date(), missing_why: 'file' })
    await trx('book_metadata').insert({ book_id: bookId, summary: `${word} words`, year: 1999, publisher: word, isbns: '9780306406157' })
    await trx('series_metadata').insert({ series_id: seriesId, summary: `${word} words`, year: 1999, publisher: word, age_rating: age })
    for (const place of carries) {
      await trx('series_genres').insert({ series_id: seriesId, genre_id: world.genreIds[place] })
      await trx('series_tags').insert({ series_id: seriesId, tag_id: world.tagNameIds[place] })
      await trx('book_genres').insert({ book_id: bookId, genre_id: world.genreIds[place] })
      await trx('book_tags').insert({ book_id: bookId, tag_id: world.tagNameIds[place] })
    }
    await trx('series_alternate_titles').insert({ series_id: seriesId, label: 'Other', title: `${word} other` })
    const application = { id: ids.applicationId, plugin_key: 'org.example.echo', external_id: word }
    const changes = JSON.stringify({ values: { publisher: { before: null, after: word, sources: {} } }, sets: {}, coverId: null })
    await trx('metadata_applications').insert({ ...application, series_id: seriesId, changes })
    for (const [table, owner] of [
      ['series', { series_id: seriesId }],
      ['book', { book_id: bookId }],
    ] as const) {
      await trx(`${table}_external_ids`).insert({ ...owner, source: 'api:mal', external_id: word })
      await trx(`${table}_external_links`).insert({ ...owner, source: 'mal', url: `https://example.org/${word}` })
    }
    await trx('series_external_ratings').insert({ series_id: seriesId, source: 'mal', rating: 50 })
    await trx('book_errors').insert({ book_id: bookId, error_type: 'other', message: `${word} is bad`, fatal: false })
    await trx('book_errors').insert({ book_id: secondId, error_type: 'metadata', message: `${word} is bad`, fatal: false })
    for (const owner of [{ book_id: bookId, id: ids.coverId }, { series_id: seriesId }]) {
      await trx('covers').insert({ ...owner, source: 'custom', hash: word, width: 1, height: 1, is_selected: true })
    }
    for (const user_id of userIds) {
      await trx('series_user_ratings').insert({ user_id, series_id: seriesId, rating: 80 })
      await trx('read_progress').insert({
        user_id,
        book_id: bookId,
        current_page: 9,
        percentage: 1,
        completed: true,
        completed_at: trx.fn.now(),
      })
      await trx('read_progress').insert({ user_id, book_id: goneId, current_page: 1, percentage: 0.1 })
      await trx('want_to_read').insert({ user_id, series_id: seriesId })
      const locator = JSON.stringify({ href: 'p', type: 'text/html', title: word })
      await trx('annotations').insert({ user_id, book_id: bookId, id: ids.annotationId, kind: 'bookmark', locator, note: `${word} note` })
    }
    await trx('collections').insert({ id: ids.collectionId, name: `${word} collection` })
    await trx('read_lists').insert({ id: ids.readListId, name: `${word} list` })
    for (const [position, { collectionId, readListId }] of [ids, ...(shelves ? [shelves] : [])].entries()) {
      // Before what is there: the first cover of a shelf stands for it.
      await trx('collection_series').insert({ collection_id: collectionId, series_id: seriesId, position: -position })
      await trx('read_list_books').insert({ read_list_id: readListId, book_id: bookId, position: -position })
    }
    const waitingId = await addBook(trx, {
      ...book,
      title: `${word} Four`,
      number: 4,
      state: 'pending',
      page_count: 0,
      pages_hash: SAME_PAGES,
      ...added(4),
    })
    for (const user_id of userIds) await trx('read_progress').insert({ user_id, book_id: waitingId, current_page: 1, percentage: 0.1 })
    await trx('read_progress').where('book_id', waitingId).delete()
    const analysis = { type: 'analyze_book', library_id: libraryId, priority: 800, max_attempts: 4 }
    await trx('tasks').insert({ ...analysis, dedupe_key: waitingId, book_id: waitingId })
    await trx('tasks').insert({
      ...analysis,
      id: ids.taskId,
      dedupe_key: bookId,
      book_id: bookId,
      status: 'failed',
      last_error: `${word} failed`,
    })
  })
}

/** A job of the library of a world. */
export async function addJob(database: Knex, { ids, provider, message }: { ids: Ids; provider: string; message: string }): Promise<void> {
  const config = { type: 'metadata_refresh', provider, skipRecentlySyncedWithinS: 60 }
  const lastRun = { last_run_status: 'completed', last_run_message: message }
  await database('library_jobs').insert({
    id: ids.jobId,
    library_id: ids.libraryId,
    type: config.type,
    name: 'Refresh',
    config,
    ...lastRun,
  })
}

/** A scan that found all there is before any of it had a row; the files of a hidden series in the same library count from then on. */
export async function addScan(database: Knex, libraryId: string): Promise<string> {
  const id = randomUUID()
  const found = { files_total: 3, books_found: 3, series_found: 1, errors: '[]' }
  await database('scans').insert({ ...found, mode: 'deep', status: 'processing', id, library_id: libraryId })
  await addRunningTask(database, { id, type: 'scan_library', library_id: libraryId, progress_current: 1, progress_total: 3 }, 'test')
  return id
}

/** What the searches for duplicates find now. */
export async function searchDuplicates(database: Knex): Promise<void> {
  const piece = (hash: string) => Number.parseInt(hash.slice(0, 2), 16)
  await recordDuplicates(database, piece(SAME_FILE), 'content')
  await recordDuplicates(database, piece(SAME_PAGES), 'pages')
}

/** Ended tasks of a library and of all of them, which say what they have done. */
export async function addEndedTasks(database: Knex, libraryId: string): Promise<void> {
  const ended = { status: 'completed', priority: 1, max_attempts: 1, completed_at: new Date() }
  const found = { result: JSON.stringify({ groups: 1, books: 2, samePages: 1 }) }
  for (const [type, library_id] of [
    ['verify_library', libraryId],
    ['purge_deleted', libraryId],
    ['arrange_library', libraryId],
    ['find_duplicates', null],
  ])
    await database('tasks').insert({ ...ended, ...found, type, library_id, dedupe_key: randomUUID() })
}
