import { randomUUID } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { Knex } from 'knex'
import type { Caller } from '#core/account/caller.ts'
import { findCover } from '#core/catalog/book-file.ts'
import { getBook } from '#core/catalog/book-query.ts'
import { coverLookupOf } from '#core/catalog/cover-lookup.ts'
import { coverHashOf } from '#core/covers/book-cover-files.ts'
import { removeCoverFiles, writeCoverFiles } from '#core/covers/chosen-cover-files.ts'
import {
  addCover,
  announceCover,
  type CoverRow,
  findCoverRow,
  listCoverRows,
  nounOf,
  removeCoverRow,
  selectCover,
} from '#core/covers/chosen-cover-store.ts'
import {
  type BookCover,
  type CoverGiver,
  type CoverOwner,
  chosenCoverPath,
  type DrawCover,
  type RecordOwner,
  type SeriesCover,
} from '#core/covers/cover.ts'
import { forgetCover } from '#core/covers/cover-orphan-store.ts'
import { refuse } from '#core/foundation/errors.ts'
import { checkVisible } from '#core/metadata/visible-records-query.ts'

interface Dependencies {
  database: Knex
  drawCover: DrawCover
  settings: { dataFolder: string }
}
type ReadDependencies = Omit<Dependencies, 'drawCover'>

/** One cover of a book or a series. */
interface OneCover {
  owner: RecordOwner
  coverId: string
}

/** A JPEG file on disk. */
export interface CoverFile {
  path: string
  etag: string
}

/** @throws not_found */
export async function listCovers({ database }: ReadDependencies, caller: Caller, owner: RecordOwner): Promise<CoverRow[]> {
  await checkVisible(database, caller, owner.kind, owner.id)
  return await listCoverRows(database, owner)
}

/**
 * Stores a picture that a user uploaded and selects it.
 * @throws not_found; unsupported_media_type, invalid_value when it is not a supported picture; conflict when there are too many
 */
export async function uploadCover(
  dependencies: Dependencies,
  caller: Caller,
  cover: { owner: RecordOwner; bytes: Uint8Array },
): Promise<CoverRow> {
  await checkVisible(dependencies.database, caller, cover.owner.kind, cover.owner.id)
  return await keepCover(dependencies, { ...cover, source: 'custom', giver: 'user' })
}

/** @throws not_found */
export async function chooseCover({ database }: ReadDependencies, caller: Caller, cover: OneCover): Promise<CoverRow> {
  await checkVisible(database, caller, cover.owner.kind, cover.owner.id)
  await selectCover(database, cover.owner, cover.coverId)
  coverLookupOf(database).forget(cover.owner.id)
  return (await findCoverRow(database, cover.owner, { id: cover.coverId })) ?? refuseUnknown(cover)
}

/** Selects the cover from the file again; deletes nothing. @throws not_found */
export async function dropChoice({ database }: ReadDependencies, caller: Caller, owner: RecordOwner): Promise<void> {
  await checkVisible(database, caller, owner.kind, owner.id)
  await selectCover(database, owner, null)
  coverLookupOf(database).forget(owner.id)
}

/** @throws not_found */
export async function deleteCover(dependencies: ReadDependencies, caller: Caller, cover: OneCover): Promise<void> {
  await checkVisible(dependencies.database, caller, cover.owner.kind, cover.owner.id)
  await dropCover(dependencies, { ...cover, by: 'user' })
}

/** As {@link deleteCover}, for a machine too. @throws not_found; conflict when a machine would delete a cover that a person has selected */
export async function dropCover(
  { database, settings }: ReadDependencies,
  cover: { owner: CoverOwner; coverId: string; by: CoverGiver },
): Promise<void> {
  const coverId = cover.coverId.toLowerCase()
  await removeCoverRow(database, cover.owner, { coverId, by: cover.by })
  coverLookupOf(database).forget(cover.owner.id)
  await removeCoverFiles(settings.dataFolder, cover.owner, coverId)
  await forgetCover(database, coverId)
}

/** One cover in full size. @throws not_found */
export async function getCoverFile(dependencies: ReadDependencies, caller: Caller, cover: OneCover): Promise<CoverFile> {
  await checkVisible(dependencies.database, caller, cover.owner.kind, cover.owner.id)
  return await coverFileOf(dependencies, cover)
}

/** As {@link getCoverFile}, for a caller who may see the owner. @throws not_found */
export async function coverFileOf(dependencies: ReadDependencies, cover: { owner: CoverOwner; coverId: string }): Promise<CoverFile> {
  const row = (await findCoverRow(dependencies.database, cover.owner, { id: cover.coverId })) ?? refuseUnknown(cover)
  const path = chosenCoverPath(dependencies.settings.dataFolder, cover.owner, { id: row.id, size: 'large' })
  if (!(await stat(path).catch(() => null))) refuse('not_found', 'The file of this cover is missing; delete the cover and upload it again.')
  return { path, etag: row.hash }
}

/** The selected cover; null when none is selected or its file is missing, in which case the extracted one is shown instead. */
export async function findChosenCover(
  { database, settings }: ReadDependencies,
  owner: CoverOwner,
  size: 'small' | 'large' = 'small',
): Promise<CoverFile | null> {
  const row = await findCoverRow(database, owner, 'selected')
  if (!row) return null
  const path = chosenCoverPath(settings.dataFolder, owner, { id: row.id, size })
  return (await stat(path).catch(() => null)) ? { path, etag: size === 'small' ? `${row.hash}-small` : row.hash } : null
}

/**
 * Selects by name where the cover of a series comes from: `default` (its first book), `book:<id>` (a copy of that book's current
 * cover), or the newest existing cover from the source `custom` or `plugin:<name>`.
 * @throws not_found; invalid_value for a book of another series, a book without a cover, or a source without covers
 */
export async function chooseSource(
  dependencies: Dependencies,
  caller: Caller,
  choice: { seriesId: string; source: string },
): Promise<void> {
  const owner: RecordOwner = { kind: 'series', id: choice.seriesId }
  const { source } = choice
  if (source === 'default') return await dropChoice(dependencies, caller, owner)
  const covers = await listCovers(dependencies, caller, owner)
  if (!source.startsWith('book:')) {
    const newest = covers.findLast((cover) => cover.source === source)
    if (!newest) refuse('invalid_value', `This series has no cover of the source "${source}".`)
    await selectCover(dependencies.database, owner, newest.id)
    return coverLookupOf(dependencies.database).forget(owner.id)
  }
  const book = await getBook(dependencies.database, caller, source.slice('book:'.length))
  if (book.seriesId !== choice.seriesId.toLowerCase()) refuse('invalid_value', `"${book.title}" is a book of another series.`)
  const bytes = await readFile(await bookCoverPath(dependencies, caller, book.id))
  const same = covers.find((cover) => cover.source === `book:${book.id}`)
  await keepCover(dependencies, { owner, bytes, source: `book:${book.id}`, giver: 'user' })
  if (same) await deleteCover(dependencies, caller, { owner, coverId: same.id })
}

async function bookCoverPath(dependencies: Dependencies, caller: Caller, bookId: string): Promise<string> {
  const owner: CoverOwner = { kind: 'book', id: bookId }
  const chosen = await findCoverRow(dependencies.database, owner, 'selected')
  if (chosen) return chosenCoverPath(dependencies.settings.dataFolder, owner, { id: chosen.id, size: 'large' })
  const cover = await findCover(dependencies.database, caller, { bookId, dataFolder: dependencies.settings.dataFolder })
  return 'missing' in cover ? refuse('not_found', cover.missing) : cover.path
}

/**
 * Stores a picture from any source and selects it.
 * @throws unsupported_media_type, invalid_value when it is not a supported picture; conflict when there are too many
 */
export async function keepCover(
  dependencies: Dependencies,
  cover: { owner: CoverOwner; bytes: Uint8Array; source: string; giver: CoverGiver },
): Promise<CoverRow> {
  const drawn = await dependencies.drawCover(cover.bytes)
  if ('refused' in drawn) {
    if (drawn.refused === 'kind')
      refuse('unsupported_media_type', 'A cover is a JPEG, PNG, WebP, AVIF or GIF picture; this is none of them.')
    refuse('invalid_value', 'The picture is damaged or too large to be decoded.')
  }
  const { dataFolder } = dependencies.settings
  const owner = { ...cover.owner, id: cover.owner.id.toLowerCase() }
  const { large, small } = drawn
  const id = randomUUID()
  await announceCover(dependencies.database, owner, id)
  try {
    await writeCoverFiles(dataFolder, owner, { id, drawn })
    const hash = coverHashOf(large.jpeg)
    const row = { id, source: cover.source, hash, width: large.width, height: large.height, color: small.color, given_by: cover.giver }
    const added = await addCover(dependencies.database, owner, row)
    coverLookupOf(dependencies.database).forget(owner.id)
    return added
  } catch (error) {
    await removeCoverFiles(dataFolder, owner, id)
    await forgetCover(dependencies.database, id)
    throw error
  }
}

const refuseUnknown = ({ owner, coverId }: { owner: CoverOwner; coverId: string }): never =>
  refuse('not_found', `The ${nounOf(owner)} has no cover ${coverId}.`)

/** A cover for clients. @param owner with the id as the client wrote it */
export function coverOf({ kind, id }: RecordOwner, row: CoverRow): BookCover | SeriesCover {
  const members = {
    id: row.id,
    source: row.source,
    path: `/api/v1/${kind === 'book' ? 'books' : 'series'}/${id}/covers/${row.id}/image`,
    isSelected: row.is_selected,
    width: row.width,
    height: row.height,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  }
  return kind === 'book' ? { bookId: id, ...members } : { seriesId: id, ...members }
}
