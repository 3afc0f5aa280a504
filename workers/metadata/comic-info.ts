import { ageRatingOf } from '#core/fields/age-rating.ts'
import type { Problem } from '#core/fields/analysis.ts'
import type { Embedded, SeriesHints } from '#core/fields/embedded.ts'
import type { AuthorRole } from '#core/fields/field.ts'
import { NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { COMIC_INFO_KEY } from '#core/fields/source-key.ts'
import { isForeignFolder } from '#core/foundation/foreign-folder.ts'
import {
  authorsOf,
  isbnsOf,
  languageOf,
  lineOf,
  monthAndDay,
  namesOf,
  positionOf,
  present,
  Remarks,
  summaryOf,
  urlsOf,
  wholeOf,
  yearOf,
} from './metadata-values.ts'
import { childrenNamed, isElement, parseXml, textOf, type XmlElement, XmlError } from './xml.ts'

const FILE_NAME = 'comicinfo.xml'

/** The metadata of ComicInfo.xml, or the problem with it. */
export interface ComicInfo {
  embedded: Embedded
  problem: Problem | null
  /** Pages by their index in reading order, beginning with 0. */
  pages: PageMarks
}

interface PageMarks {
  frontCovers: readonly number[]
  deleted: ReadonlySet<number>
}

const NO_MARKS: PageMarks = { frontCovers: [], deleted: new Set() }
export const NO_COMIC_INFO: ComicInfo = { embedded: {}, problem: null, pages: NO_MARKS }

/** The ComicInfo.xml to use: the one nearest to the root, then in the first folder, then the last, because case does not distinguish its names. */
export function findComicInfo<Entry extends { name: string }>(entries: readonly Entry[]): Entry | undefined {
  const depth = (entry: Entry) => entry.name.split('/').length
  return entries
    .filter(
      ({ name }) =>
        name.slice(name.lastIndexOf('/') + 1).toLowerCase() === FILE_NAME &&
        !name.split('/').some((part) => part !== '.' && isForeignFolder(part)),
    )
    .reduce<Entry | undefined>((best, entry) => {
      const isEqual = best?.name.toLowerCase() === entry.name.toLowerCase()
      return best && !isEqual && depth(best) <= depth(entry) ? best : entry
    }, undefined)
}

/** Reads every supported element of versions 1.0 to 2.1. An unreadable file is only a problem of the metadata: the pages do not need it. */
export function readComicInfo(name: string, bytes: Uint8Array): ComicInfo {
  try {
    const { root, unknownEntities } = parseXml(bytes)
    if (root.name.toLowerCase() !== 'comicinfo') return unreadable(name, `its root element is "${root.name}"`)
    const remarks = new Remarks()
    const embedded = readElements(elementsOf(root, unknownEntities, remarks), remarks)
    return { embedded, problem: remarks.problem(name), pages: marksOf(root) }
  } catch (error) {
    if (error instanceof XmlError) return unreadable(name, error.message)
    throw error
  }
}

/** The result for an entry that could not be extracted. */
export function unreadable(name: string, reason: string): ComicInfo {
  return { ...NO_COMIC_INFO, problem: { type: 'metadata', message: `${name} cannot be read: ${reason.replace(/\.$/, '')}.`, fatal: false } }
}

/** The type of a page is a list of words. */
function marksOf(root: XmlElement): PageMarks {
  const pages = childrenNamed(root, 'Pages').flatMap((list) => childrenNamed(list, 'Page'))
  const marked = (word: string) =>
    pages.flatMap(({ attributes }) => {
      const image = attributes.get('Image')?.trim() ?? ''
      const words = (attributes.get('Type') ?? '').toLowerCase().split(/\s+/)
      return /^\d{1,6}$/.test(image) && words.includes(word) ? [Number(image)] : []
    })
  return { frontCovers: marked('frontcover'), deleted: new Set(marked('deleted')) }
}

interface Elements {
  /** Text of the element; of repeated ones, the first that is not empty. */
  (name: string): string | undefined
  /** For lists: all repeated elements, joined by commas. */
  all(name: string): string | undefined
}

/** Texts by element name, ignoring case. Entities of a DOCTYPE are not expanded, so a text with one is ignored. */
function elementsOf(root: XmlElement, unknownEntities: readonly string[], remarks: Remarks): Elements {
  const texts = new Map<string, string[]>()
  for (const child of root.children.filter(isElement)) {
    // A list of 20,000 pages has only elements without text.
    if (child.name.toLowerCase() === 'pages') continue
    const key = child.name.toLowerCase()
    const text = textOf(child)
    if (text.trim() === '') continue
    if (unknownEntities.some((name) => text.includes(`&${name};`))) remarks.add(child.name, text, 'uses an entity, which is not expanded')
    else if (texts.has(key)) texts.get(key)?.push(text)
    else texts.set(key, [text])
  }
  return Object.assign((name: string) => texts.get(name.toLowerCase())?.[0], {
    all: (name: string) => texts.get(name.toLowerCase())?.join(','),
  })
}

const PEOPLE: readonly [element: string, role: AuthorRole][] = [
  ['Writer', 'writer'],
  ['Penciller', 'penciller'],
  ['Inker', 'inker'],
  ['Colorist', 'colorist'],
  ['Letterer', 'letterer'],
  ['CoverArtist', 'cover_artist'],
  ['Editor', 'editor'],
  ['Translator', 'translator'],
]

function readElements(get: Elements, remarks: Remarks): Embedded {
  const manga = mangaOf(get('Manga'))
  const year = yearOf(get('Year'), 'Year', remarks)
  const genres = namesOf(get.all('Genre'))
  const format = lineOf(get('Format'))
  const language = languageOf(get('LanguageISO'), 'LanguageISO', remarks)
  const embedded = present<Embedded>({
    title: lineOf(get('Title')),
    book: present({
      number: positionOf(get('Number'), 'Number', remarks),
      volume: wholeOf(get('Volume'), 'Volume', remarks),
      count: wholeOf(get('Count'), 'Count', remarks),
      summary: summaryOf(get('Summary'), 'Summary', remarks),
      year,
      // The zero time of a program has a month and a day as well.
      ...(Number(get('Year')) > 0 && year === undefined ? {} : monthAndDay({ year, month: get('Month'), day: get('Day') }, remarks)),
      // The schema separates names by commas; "Last, First" looks the same as two people.
      authors: authorsOf(PEOPLE.flatMap(([element, role]) => namesOf(get.all(element), /,/).map((name) => ({ name, role })))),
      publisher: lineOf(get('Publisher')),
      imprint: lineOf(get('Imprint')),
      genre: genres.length === 0 ? undefined : lineOf(genres.join(', ')),
      languageIso: language,
      formatDetail: format,
      bookType: bookTypeOf(format, manga.manga),
      blackAndWhite: booleanOf(get('BlackAndWhite')),
      manga: manga.manga,
      isbns: isbnOfGtin(get('GTIN'), remarks),
    }),
    genres,
    tags: namesOf(get.all('Tags')),
    storyArcs: storyArcsOf(get('StoryArc'), get('StoryArcNumber')),
    externalIds: idsOfGtin(get('GTIN')),
    links: urlsOf(get('Web')).map((url, index) => ({ source: index === 0 ? COMIC_INFO_KEY : `${COMIC_INFO_KEY}-${index + 1}`, url })),
    series: seriesOf(get, manga.direction),
  })
  return embedded ?? {}
}

function seriesOf(get: Elements, readingDirection: ReadingDirection): SeriesHints | undefined {
  const title = lineOf(get('Series'), NAME_LENGTH_MAX)
  const fields = present<ValuesOf['series']>({ title, ageRating: ageRatingOf(get('AgeRating')), readingDirection })
  return present<SeriesHints>({ fields })
}

/** Undefined for "Unknown" and anything else except yes and no. */
function booleanOf(text: string | undefined): boolean | undefined {
  const word = text?.trim().toLowerCase() ?? ''
  if (['yes', 'true', '1'].includes(word)) return true
  return ['no', 'false', '0'].includes(word) ? false : undefined
}

function mangaOf(text: string | undefined): { manga?: boolean; direction?: ReadingDirection } {
  const word = text
    ?.trim()
    .toLowerCase()
    .replaceAll(/[\s_-]/g, '')
  if (word === 'yesandrighttoleft') return { manga: true, direction: 'rtl' }
  if (word === 'righttoleft') return { direction: 'rtl' }
  const manga = booleanOf(word)
  return manga === undefined ? {} : { manga }
}

type ReadingDirection = ValuesOf['series']['readingDirection']
type BookType = ValuesOf['book']['bookType']

const TYPES_OF_FORMAT = new Map<string, BookType>([
  ['oneshot', 'oneshot'],
  ['graphicnovel', 'graphic_novel'],
  ['gn', 'graphic_novel'],
  ['omnibus', 'omnibus'],
  ['magazine', 'magazine'],
  ['anthology', 'anthology'],
  ['artbook', 'artbook'],
  ['novel', 'novel'],
  ['lightnovel', 'novel'],
  ['manga', 'manga'],
])

function bookTypeOf(format: string | undefined, manga: boolean | undefined): BookType {
  const known = TYPES_OF_FORMAT.get(format?.toLowerCase().replaceAll(/[^a-z]/g, '') ?? '')
  return known ?? (manga ? 'manga' : undefined)
}

/** An article number outside the ISBN range (no 978 or 979), or a URN of another kind (urn:comicvine:…). */
const isForeign = (code: string): boolean => /^urn:(?!isbn:)/i.test(code) || (/^\d{12,14}$/.test(code) && !/^97[89]/.test(code))
const codesOf = (text: string | undefined): string[] => (text ?? '').split(/[,;]/).map((code) => code.trim())

/** The first code that is not an ISBN, under the key of ComicInfo among the identifiers. */
function idsOfGtin(text: string | undefined): Record<string, string> | undefined {
  const id = lineOf(codesOf(text).find((code) => isForeign(code) && code.length <= NAME_LENGTH_MAX))
  return id === undefined ? undefined : { [COMIC_INFO_KEY]: id }
}

/** Other numbers and URLs are not ISBNs. */
function isbnOfGtin(text: string | undefined, remarks: Remarks): string | undefined {
  return isbnsOf(
    codesOf(text).filter((code) => !isForeign(code) && !/^[a-z]+:\/\//i.test(code)),
    'GTIN',
    remarks,
  )
}

/** Names and numbers of story arcs are two parallel lists. */
function storyArcsOf(names: string | undefined, numbers: string | undefined): NonNullable<Embedded['storyArcs']> {
  const places = (numbers ?? '').split(',').map((number) => lineOf(number, NAME_LENGTH_MAX))
  return namesOf(names, /,/).map((name, index) => {
    const number = places[index]
    return number === undefined ? { name } : { name, number }
  })
}
