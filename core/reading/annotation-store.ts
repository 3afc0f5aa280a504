import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { refuse } from '#core/foundation/errors.ts'
import { type Dated, withIsoTimes } from '#core/foundation/instant.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'
import type { Annotation, AnnotationEdit } from '#core/reading/annotation.ts'
import { getReading } from '#core/reading/progress-query.ts'

/** Students mark a few on each page of a textbook. */
export const ANNOTATIONS_MAX = 2_000
/** Hundreds of marked books. The largest possible ones take 600 MB; without a limit, one user could fill the disk book by book. */
const ANNOTATIONS_OF_USER_MAX = 50_000
/** A locator with quoted text has one or two kilobytes. */
const LOCATOR_BYTES_MAX = 8_192

type Row = Dated<Annotation, 'createdAt' | 'updatedAt'>

const COLUMNS = [
  'id',
  'book_id AS bookId',
  'kind',
  'locator',
  'color',
  'note',
  'file_hash AS bookFileHash',
  'created_at AS createdAt',
  'updated_at AS updatedAt',
]

/** One page of the caller's annotations in a book, in the order of the book. @throws not_found for a hidden or unknown book */
export async function listAnnotations(
  database: Knex,
  caller: Caller,
  { bookId, offset, limit }: { bookId: string; offset: number; limit: number },
): Promise<{ items: Annotation[]; total: number }> {
  await getReading(database, caller, bookId)
  const mine = database('annotations').where({ user_id: caller.userId, book_id: bookId })
  const [rows, counted] = await Promise.all([
    mine.clone().select(COLUMNS).orderByRaw('progression NULLS LAST, created_at, id').offset(offset).limit(limit) as Promise<Row[]>,
    mine.clone().count({ total: '*' }).first(),
  ])
  return { items: rows.map(withIsoTimes), total: Number(counted?.['total']) }
}

/**
 * Adds an annotation with an id that the client has chosen, or replaces it.
 * @throws not_found for a hidden or unknown book, invalid_value for a locator that is too large, conflict when there are too many
 */
export async function saveAnnotation(
  database: Knex,
  caller: Caller,
  { bookId, id, edit }: { bookId: string; id: string; edit: AnnotationEdit },
): Promise<Annotation> {
  await getReading(database, caller, bookId)
  const locator = JSON.stringify(edit.locator)
  const bytes = Buffer.byteLength(locator)
  if (bytes > LOCATOR_BYTES_MAX) refuseMember('/locator', `has ${bytes} bytes as JSON; at most ${LOCATOR_BYTES_MAX} are stored`)
  return await database.transaction(async (trx) => {
    // One after another for each user, so that all of them are counted.
    await trx('users').where('id', caller.userId).forUpdate().first('id')
    const key = { user_id: caller.userId, book_id: bookId }
    const others = await trx('annotations')
      .where('user_id', caller.userId)
      .whereRaw('(book_id, id) <> (CAST(? AS uuid), CAST(? AS uuid))', [bookId, id])
      .first(trx.raw('count(*) AS total, count(*) FILTER (WHERE book_id = ?) AS here', [bookId]))
    if (Number(others.here) >= ANNOTATIONS_MAX)
      refuse('conflict', `You have ${ANNOTATIONS_MAX} bookmarks and highlights in this book, which is the limit. Delete some first.`)
    if (Number(others.total) >= ANNOTATIONS_OF_USER_MAX)
      refuse(
        'conflict',
        `You have ${ANNOTATIONS_OF_USER_MAX} bookmarks and highlights in all books, which is the limit. Delete some first.`,
      )
    const book = await trx('books').where('id', bookId).first('file_hash')
    const values = {
      kind: edit.kind,
      locator,
      progression: edit.locator.locations?.totalProgression ?? null,
      color: edit.color ?? null,
      note: edit.note ?? null,
      file_hash: book?.file_hash ?? null,
      updated_at: trx.fn.now(),
    }
    const saved: Row[] = await trx('annotations')
      .insert({ ...key, id, ...values })
      .onConflict(['user_id', 'book_id', 'id'])
      .merge(values)
      .returning(COLUMNS)
    return withIsoTimes(saved[0] as Row)
  })
}

/** Deletes one of the caller's annotations in a book, or all of them. @throws not_found for a hidden or unknown book, or an unknown annotation */
export async function deleteAnnotations(database: Knex, caller: Caller, { bookId, id }: { bookId: string; id?: string }): Promise<void> {
  await getReading(database, caller, bookId)
  const count = await database('annotations')
    .where({ user_id: caller.userId, book_id: bookId, ...(id !== undefined && { id }) })
    .delete()
  if (id !== undefined && count === 0) refuse('not_found', `You have no annotation ${id} in this book.`)
}
