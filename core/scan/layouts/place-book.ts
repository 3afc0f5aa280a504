import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { stemOf } from '#core/fields/book-format.ts'
import { fieldsOfFileName, readFileName, titleOfFileName } from '#core/fields/file-name.ts'
import { mayBeSpecial } from '#core/fields/name-series.ts'
import { missingValues, type PlacedBook, type PlacedValues } from '#core/fields/placed-values.ts'
import { toNameText } from '#core/foundation/name-text.ts'
import { type FolderDecision, isLike, type Owner } from '#core/scan/layouts/decide-folder.ts'
import {
  hasCalibreId,
  nameOfFolder,
  type PartMark,
  parentOf,
  partMark,
  seriesKey,
  volumeOfName,
  withoutCalibreId,
} from '#core/scan/layouts/folder-name.ts'
import type { FolderWords } from '#core/scan/layouts/folder-words.ts'
import type { CalibreConfig, FlatConfig, PublisherConfig, SeriesLayout } from '#core/scan/layouts/series-config.ts'

/** Which rule gave a book its series; the preview explains it. */
export const RULES = [
  'calibre',
  'oneshots',
  'part',
  'side',
  'bundle',
  'folder',
  'author',
  'root',
  'metadata',
  'file_name',
  'pattern',
  'levels',
  'unsorted',
] as const
export type Rule = (typeof RULES)[number]

/** The series of a book. Its identity is the path with the key. */
export interface SeriesPlace {
  /** Relative to the root: a folder, or the file of a series of one. */
  path: string
  /** Tells several series of one folder apart; '' when the path alone does. */
  nameKey: string
  /** Before the title rules of the library. */
  title: string
  oneshot: boolean
  /** From the names of folders above. */
  publisher?: string
  imprint?: string
  author?: string
}

/** Unique in a library. No path and no name holds a NUL. */
export const placeKey = ({ path, nameKey }: Pick<SeriesPlace, 'path' | 'nameKey'>): string => `${path}\0${nameKey}`

export interface BookPlace {
  series: SeriesPlace
  rule: Rule
  values: PlacedValues
  /** Beside the numbered books of its series. */
  isSide: boolean
}

/** The groups of a pattern that matched; null when it did not match. */
export type PatternGroups = Readonly<Record<string, string>> | null

/** All that decides about one file. */
export interface FileToPlace {
  /** Relative to the root. */
  path: string
  /** The series in its metadata, once it is analyzed. */
  named?: string | null | undefined
  /** The series in its name, if it was read already. */
  inName?: string | null
  /** Only with a pattern. */
  groups?: PatternGroups
}

/** What is known of the folder of a file, and of the folder that owns its books. */
export interface FolderContext {
  owner: Owner
  /** Of the owner, if it has books of its own; a bundle too if a folder of years or editions in it is one, for the books of all such folders. */
  decision: FolderDecision | undefined
  /** Of the files in the root: keys of the series names that several have. */
  shared: ReadonlySet<string>
}

const UNSORTED: SeriesPlace = { path: '', nameKey: 'unsorted', title: 'Unsorted', oneshot: false }

const folderSeries = (folder: string, title = nameOfFolder(folder)): SeriesPlace =>
  folder === '' ? UNSORTED : { path: folder, nameKey: '', title: toNameText(title), oneshot: false }
const oneshot = (path: string, title = titleOfFileName(nameOfFolder(path))): SeriesPlace => ({
  path,
  nameKey: '',
  title: toNameText(title),
  oneshot: true,
})
/** An index entry of PostgreSQL holds 2,704 bytes, and this one both and the library's id. */
const INDEXED_BYTES_MAX = 2_500
const fittingKey = (path: string, key: string): string =>
  Buffer.byteLength(path) + Buffer.byteLength(key) <= INDEXED_BYTES_MAX ? key : hash('sha256', key, 'hex')

const namedSeries = (folder: string, name: string): SeriesPlace => ({
  path: folder,
  nameKey: fittingKey(folder, seriesKey(name)),
  title: toNameText(name.trim()),
  oneshot: false,
})

const placed = (series: SeriesPlace, rule: Rule, values: PlacedValues = {}, isSide = false): BookPlace => ({ series, rule, values, isSide })

const seriesInName = ({ path, inName }: FileToPlace): string | null =>
  inName === undefined ? readFileName(nameOfFolder(path)).series : inName

/** Gives a file its series. Depends on nothing but its arguments, so that the order of a walk makes no difference. */
export function placeBook(layout: SeriesLayout, file: FileToPlace, context: FolderContext): BookPlace {
  const folder = parentOf(file.path)
  switch (layout.strategy) {
    case 'auto':
      return placeByRules(file, context)
    case 'series_volume':
      return folder === '' ? placed(oneshot(file.path), 'root') : placed(folderSeries(folder), 'folder')
    case 'series_volume_chapter':
      return placeByVolumeFolder(layout.words, file)
    case 'flat':
      return placeByName(layout.config, file)
    case 'publisher_hierarchy':
      return placeBelowLevels(layout, file)
    case 'calibre':
      return placeInCalibre(layout.config, file)
    case 'custom': {
      const series = file.groups?.series?.trim()
      if (!file.groups || !series) return placed(UNSORTED, 'unsorted')
      return placed(customSeries(layout.config.seriesNameTemplate, file.groups), 'pattern', valuesOf(file.groups))
    }
  }
}

/** What only the owner's own name and place decide, is not stored: it stays while the name does. */
function placeByRules(file: FileToPlace, { owner, decision, shared }: FolderContext): BookPlace {
  const folder = parentOf(file.path)
  const { named } = file
  if (folder === '') {
    const inName = seriesInName(file)
    const name = named ?? inName
    const isShared = decision?.kind === 'bundle' && name !== null && shared.has(seriesKey(inName ?? name))
    return isShared ? placed(namedSeries('', name), 'bundle') : placed(oneshot(file.path), 'root')
  }
  if (decision?.kind === 'calibre' && owner.folder === folder) return placeInCalibre({}, file)
  if (owner.isOneshots) return placed(oneshot(file.path), 'oneshots')
  const rule = owner.isSide ? 'side' : owner.folder === folder ? null : 'part'
  const values = marked(owner.marks)
  const place = (series: SeriesPlace, otherwise: Rule) =>
    placed({ ...series, ...(decision?.isPublished && publisherOf(owner.folder)) }, rule ?? otherwise, values, owner.isSide)
  if (decision?.kind === 'author' && rule === null)
    return named ? placed(namedSeries(folder, named), 'author') : placed(oneshot(file.path), 'author')
  if (decision?.kind !== 'bundle') return place(folderSeries(owner.folder), 'folder')
  const name = named ?? seriesInName(file)
  const isOwners = name === null || (rule === 'part' && isLike(name, nameOfFolder(owner.folder)))
  return place(isOwners ? folderSeries(owner.folder) : namedSeries(owner.folder, name), 'bundle')
}

const publisherOf = (folder: string) => (parentOf(folder) === '' ? {} : { publisher: toNameText(nameOfFolder(parentOf(folder))) })

/** The innermost folder with a volume counts, and so with a chapter. */
function marked(marks: readonly PartMark[]): PlacedValues {
  const volume = marks.find((mark) => mark.volume !== undefined)?.volume
  const chapter = marks.find((mark) => mark.chapter !== undefined)?.chapter
  return { ...(volume !== undefined && { volume }), ...(chapter !== undefined && { chapter }) }
}

function placeByVolumeFolder(words: FolderWords, file: FileToPlace): BookPlace {
  const folder = parentOf(file.path)
  if (folder === '') return placed(oneshot(file.path), 'root')
  const above = parentOf(folder)
  if (above === '') return placed(folderSeries(folder), 'folder')
  return placed(folderSeries(above), 'part', volumeOfName(nameOfFolder(folder), nameOfFolder(above), words))
}

function placeByName(config: FlatConfig, file: FileToPlace): BookPlace {
  const folder = parentOf(file.path)
  if (file.named) return placed(namedSeries(folder, file.named), 'metadata')
  if (config.requireMetadata) return placed(UNSORTED, 'unsorted')
  const fromPattern = file.groups?.series?.trim()
  if (fromPattern) return placed(namedSeries(folder, fromPattern), 'pattern', valuesOf(file.groups ?? {}))
  const series = seriesInName(file)
  return series === null
    ? placed(folderSeries(folder), folder === '' ? 'unsorted' : 'folder')
    : placed(namedSeries(folder, series), 'file_name')
}

function placeBelowLevels({ config, words }: { config: PublisherConfig; words: FolderWords }, file: FileToPlace): BookPlace {
  const levels = file.path.split('/').slice(0, -1)
  const { skipDepth = 1, storeSkippedAs = 'publisher' } = config
  if (levels.length <= skipDepth) return placed(UNSORTED, 'unsorted')
  const path = levels.slice(0, skipDepth + 1).join('/')
  // Of several skipped levels, the publisher is the first one, and what belongs to it comes last.
  const skipped = toNameText(levels[storeSkippedAs === 'publisher' ? 0 : skipDepth - 1] as string)
  const marks = levels.slice(skipDepth + 1).flatMap((name, index) => partMark(name, levels[skipDepth + index] as string, words) ?? [])
  return placed({ ...folderSeries(path), [storeSkippedAs]: skipped }, 'levels', marked(marks.reverse()))
}

function placeInCalibre(config: CalibreConfig, file: FileToPlace): BookPlace {
  const { seriesMode = 'from_metadata', stripIdSuffix = true, readOpfMetadata = true, authorFromFolder = true } = config
  const folder = parentOf(file.path)
  const above = parentOf(folder)
  const author = authorFromFolder && above !== '' ? { author: toNameText(nameOfFolder(above)) } : {}
  if (seriesMode === 'by_author' && above !== '') return placed({ ...folderSeries(above), ...author }, 'calibre')
  // A series of several authors is one: it belongs to the folder that holds those of the authors.
  if (seriesMode === 'from_metadata' && readOpfMetadata && file.named) return placed(namedSeries(parentOf(above), file.named), 'metadata')
  if (folder === '' || !hasCalibreId(nameOfFolder(folder))) return placed({ ...oneshot(file.path), ...author }, 'calibre')
  const title = stripIdSuffix ? withoutCalibreId(nameOfFolder(folder)) : nameOfFolder(folder)
  return placed({ ...oneshot(file.path, title), ...author }, 'calibre')
}

function customSeries(template: string | undefined, groups: Readonly<Record<string, string>>): SeriesPlace {
  const name = template?.replace(/\{([a-z]{1,20})\}/g, (_, group: string) => groups[group] ?? '') ?? (groups.series as string)
  const publisher = groups.publisher?.trim()
  const series = namedSeries('', name.trim() === '' ? (groups.series as string) : name)
  // Equal names of two publishers stay apart.
  return publisher
    ? { ...series, nameKey: fittingKey(series.path, `${seriesKey(publisher)}/${series.nameKey}`), publisher: toNameText(publisher) }
    : series
}

function valuesOf(groups: Readonly<Record<string, string>>): PlacedValues {
  const numberIn = (group: string, isWhole = false) => {
    const number = groups[group] === undefined || groups[group].trim() === '' ? Number.NaN : Number(groups[group].replace(',', '.'))
    return Number.isFinite(number) && number >= 0 && number < 1e7 && (!isWhole || Number.isInteger(number)) ? { [group]: number } : {}
  }
  const title = groups.title?.trim()
  return { ...numberIn('volume', true), ...numberIn('chapter'), ...numberIn('number'), ...(title && { title: toNameText(title) }) }
}

/** What the row of a book keeps of its place. A pattern says it of this file; a folder only fills what the name of the file leaves open. */
export function placedBook(fileName: string, { series, rule, values, isSide }: BookPlace): PlacedBook {
  const isOfFile = rule === 'pattern' && Object.keys(values).length > 0
  // A folder of Calibre is that of an author, whose books begin with their titles.
  const folder = series.nameKey === '' && !series.oneshot && rule !== 'calibre' ? nameOfFolder(series.path) : ''
  const given = isOfFile ? values : missingValues(fileName, { ...values, ...(changesNumbers(folder, fileName) && { folder }) })
  return { layoutValues: given, isSide: isSide || (!isOfFile && !series.oneshot && isBesideOthers(fileName, folder)) }
}

/** Reading a name twice takes a while: only digits of the folder, or a title behind digits of the file, can make a difference. */
const changesNumbers = (folder: string, fileName: string): boolean =>
  folder !== '' &&
  (/\p{N}/u.test(folder.replace(/\([^()]*\)/g, '')) || /\p{N}[a-d]?[^\p{L}\p{N}]{1,6}[\p{L}\p{N}]/u.test(stemOf(fileName))) &&
  !isDeepStrictEqual(fieldsOfFileName(fileName), fieldsOfFileName(fileName, folder))

/** In a folder of specials, they are the numbered books. */
const isBesideOthers = (fileName: string, folder: string): boolean =>
  mayBeSpecial(fileName) && !mayBeSpecial(folder) && readFileName(fileName, { ...(folder !== '' && { folder }) }).isBeside
