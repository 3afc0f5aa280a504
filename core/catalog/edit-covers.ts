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

interface OneCover<Owner extends CoverOwner> {
  owner: Owner
  coverId: string
}

/** In what the covers of different owners differ. */
interface CoverRules<Owner extends CoverOwner> {
  /** @throws not_found if the owner does not exist, or the caller may not see it */
  check(database: Knex, caller: Caller, owner: Owner): Promise<unknown>
  /** Announces a change, where storing it does not. */
  announce?(database: Knex, owner: Owner): Promise<void>
}

/** A JPEG file on disk. */
export interface CoverFile {
  path: string
  etag: string
}

/** What callers do with the covers of an owner that they see. @throws not_found */
export const coversBy = <Owner extends CoverOwner>({ check, announce }: CoverRules<Owner>) => ({
  async list({ database }: ReadDependencies, caller: Caller, owner: Owner): Promise<CoverRow[]> {
    await check(database, caller, owner)
    return await listCoverRows(database, owner)
  },

  /**
   * Stores a picture that a user uploaded and selects it.
   * @throws unsupported_media_type, invalid_value when it is not a supported picture; conflict when there are too many
   */
  async upload(dependencies: Dependencies, caller: Caller, cover: { owner: Owner; bytes: Uint8Array }): Promise<CoverRow> {
    await check(dependencies.database, caller, cover.owner)
    const row = await keepCover(dependencies, { ...cover, source: 'custom', giver: 'user' })
    await announce?.(dependencies.database, cover.owner)
    return row
  },

  /** Selects a cover, or with null again the one that is shown without a choice; deletes nothing. @returns the cover; null for null */
  async choose(
    { database }: ReadDependencies,
    caller: Caller,
    { owner, coverId }: { owner: Owner; coverId: string | null },
  ): Promise<CoverRow | null> {
    await check(database, caller, owner)
    await selectCover(database, owner, coverId)
    coverLookupOf(database).forget(owner.id)
    await announce?.(database, owner)
    return coverId === null ? null : ((await findCoverRow(database, owner, { id: coverId })) ?? refuseUnknown({ owner, coverId }))
  },

  async remove(dependencies: ReadDependencies, caller: Caller, cover: OneCover<Owner>): Promise<void> {
    await check(dependencies.database, caller, cover.owner)
    await dropCover(dependencies, { ...cover, by: 'user' })
    await announce?.(dependencies.database, cover.owner)
  },

  /** One cover in full size. */
  async file({ database, settings }: ReadDependencies, caller: Caller, cover: OneCover<Owner>): Promise<CoverFile> {
    await check(database, caller, cover.owner)
    const row = (await findCoverRow(database, cover.owner, { id: cover.coverId })) ?? refuseUnknown(cover)
    const path = chosenCoverPath(settings.dataFolder, cover.owner, { id: row.id, size: 'large' })
    if (!(await stat(path).catch(() => null)))
      refuse('not_found', 'The file of this cover is missing; delete the cover and upload it again.')
    return { path, etag: row.hash }
  },
})

export type CoversBy<Owner extends CoverOwner> = ReturnType<typeof coversBy<Owner>>

/** The covers of books and series. */
export const recordCovers = coversBy<RecordOwner>({ check: (database, caller, { kind, id }) => checkVisible(database, caller, kind, id) })

/** Deletes a cover, for a machine too. @throws not_found; conflict when a machine would delete a cover that a person has selected */
export async function dropCover({ database, settings }: ReadDependencies, cover: OneCover<CoverOwner> & { by: CoverGiver }): Promise<void> {
  const coverId = cover.coverId.toLowerCase()
  await removeCoverRow(database, cover.owner, { coverId, by: cover.by })
  coverLookupOf(database).forget(cover.owner.id)
  await removeCoverFiles(settings.dataFolder, cover.owner, coverId)
  await forgetCover(database, coverId)
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
  if (source === 'default') return void (await recordCovers.choose(dependencies, caller, { owner, coverId: null }))
  const covers = await recordCovers.list(dependencies, caller, owner)
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
  if (same) await recordCovers.remove(dependencies, caller, { owner, coverId: same.id })
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

const refuseUnknown = ({ owner, coverId }: OneCover<CoverOwner>): never =>
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
