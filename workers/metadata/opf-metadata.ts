import type { Embedded } from '#core/fields/embedded.ts'
import type { Author, AuthorRole } from '#core/fields/field.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { CUSTOM_BYTES_MAX, NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import type { ValuesOf } from '#core/fields/record-kind.ts'
import { parseObject } from '#core/foundation/plain-object.ts'
import {
  authorsOf,
  isbnsOf,
  languageOf,
  lineOf,
  namesOf,
  positionOf,
  present,
  type Remarks,
  summaryOf,
  textOfHtml,
} from './metadata-values.ts'
import { datesOf } from './opf-dates.ts'
import { descendantsNamed, foldSpace, isElement, textOf, type XmlElement } from './xml.ts'

/** Reads every supported element of a package document's metadata: EPUB 2, EPUB 3 or calibre's own file. */
export function readOpfMetadata(root: XmlElement, unknownEntities: readonly string[], remarks: Remarks): Embedded {
  const metadata = descendantsNamed(root, 'metadata').next().value
  if (metadata === undefined) return {}
  const opf = groupMetadata(metadata, unknownEntities)
  const titles = opf.all('title')
  const title = titles[0]
  const series = seriesOf(opf)
  const { isbns, externalIds } = identifiersOf(opf, remarks)
  const subjects = namesOf(
    opf
      .all('subject')
      .map(({ text }) => text.replaceAll('\0', ' '))
      .join('\0'),
    /\0/,
  )
  const position = positionOf(series?.position, 'Series index', remarks)
  const dates = datesOf(opf.all('date'), opf.meta('dcterms:issued'), remarks)
  const titleSort = title && (opf.refinement(title, 'file-as') ?? opf.meta('calibre:title_sort'))
  return (
    present<Embedded>({
      title: lineOf(title?.text),
      book: present({
        titleSort: lineOf(titleSort, NAME_LENGTH_MAX),
        subtitle: lineOf(titles.find((entry) => opf.refinement(entry, 'title-type') === 'subtitle')?.text),
        edition: lineOf(titles.find((entry) => opf.refinement(entry, 'title-type') === 'edition')?.text ?? opf.meta('schema:bookEdition')),
        number: position,
        seriesPosition: position,
        authors: peopleOf(opf),
        publisher: lineOf(opf.all('publisher')[0]?.text),
        imprint: lineOf(opf.meta('imprint')),
        languageIso: languageOf(opf.all('language')[0]?.text, 'dc:language', remarks),
        summary: summaryOf(textOfHtml(opf.all('description')[0]?.text ?? ''), 'dc:description', remarks),
        subjects: subjects.length === 0 ? undefined : subjects,
        isbns,
        customMetadata: calibreColumns(opf),
        ...dates,
      }),
      tags: subjects,
      externalIds,
      series: seriesHints(root, series?.name),
    }) ?? {}
  )
}

function seriesHints(root: XmlElement, title: string | undefined): Embedded['series'] {
  const direction = descendantsNamed(root, 'spine').next().value?.attributes.get('page-progression-direction')?.trim().toLowerCase()
  const fields = present<ValuesOf['series']>({
    title: lineOf(title, NAME_LENGTH_MAX),
    readingDirection: direction === 'rtl' || direction === 'ltr' ? direction : undefined,
  })
  return fields && { fields }
}

/** A metadata element with its text, white space as written. */
interface Entry {
  element: XmlElement
  text: string
}

interface Metadata {
  /** Non-empty Dublin Core elements of this name, in order. */
  all: (name: string) => Entry[]
  /** The value of EPUB 2's `name` or EPUB 3's `property` that applies to the whole book. */
  meta: (key: string) => string | undefined
  /** All values of metas whose key begins with `prefix`, by key. */
  metas: (prefix: string) => [key: string, value: string][]
  /** A refinement of one element: `opf:role="…"` in EPUB 2, or EPUB 3's meta with `refines`. */
  refinement: (entry: Entry, property: string) => string | undefined
  refinements: (id: string | undefined, property: string) => string[]
  /** Metas of a property, with their ids. */
  collections: () => { id: string | undefined; text: string }[]
}

function groupMetadata(metadata: XmlElement, unknownEntities: readonly string[]): Metadata {
  const says = (text: string) => text.trim() !== '' && !unknownEntities.some((name) => text.includes(`&${name};`))
  // EPUB 1 and some tools for EPUB 2 wrap them in dc-metadata and x-metadata.
  const elements = metadata.children
    .filter(isElement)
    .flatMap((child) => (/^(dc|x)-metadata$/i.test(child.name) ? child.children.filter(isElement) : [child]))
  const byName = new Map<string, Entry[]>()
  const metas: { key: string; value: string; id: string | undefined }[] = []
  const refining = new Map<string, string[]>()
  for (const element of elements) {
    const name = element.name.toLowerCase()
    if (name !== 'meta') {
      const text = textOf(element)
      if (!says(text)) continue
      const known = byName.get(name)
      if (known) known.push({ element, text })
      else byName.set(name, [{ element, text }])
      continue
    }
    const key = (element.attributes.get('property') ?? element.attributes.get('name') ?? '').trim().toLowerCase()
    const value = element.attributes.get('content') ?? textOf(element)
    const refined = element.attributes.get('refines')?.replace(/^#/, '')
    if (key === '' || !says(value)) continue
    if (refined === undefined) metas.push({ key, value, id: element.attributes.get('id') })
    else {
      const known = refining.get(`${refined}\0${key}`)
      if (known) known.push(foldSpace(value))
      else refining.set(`${refined}\0${key}`, [foldSpace(value)])
    }
  }
  const refinements = (id: string | undefined, property: string) => refining.get(`${id}\0${property}`) ?? []
  return {
    all: (name) => byName.get(name) ?? [],
    meta: (key) => metas.find((meta) => meta.key === key.toLowerCase())?.value,
    metas: (prefix) => metas.filter(({ key }) => key.startsWith(prefix)).map(({ key, value }) => [key, value]),
    refinement: ({ element }, property) => element.attributes.get(property) ?? refinements(element.attributes.get('id'), property)[0],
    refinements,
    collections: () => metas.filter(({ key }) => key === 'belongs-to-collection').map(({ value, id }) => ({ id, text: foldSpace(value) })),
  }
}

/** MARC relators that map to a role here; everybody else is a contributor. */
const ROLES = new Map<string, AuthorRole>([
  ['aut', 'author'],
  ['author', 'author'],
  ['edt', 'editor'],
  ['trl', 'translator'],
  ['ill', 'illustrator'],
  ['art', 'illustrator'],
  ['clr', 'colorist'],
  ['cov', 'cover_artist'],
  ['aui', 'contributor'],
])
/** Nobody has more roles in one book; each of them is one entry in the list of people. */
const ROLES_MAX = 10
/** Publishers and the programs that made the file are not people. */
const NOT_PEOPLE = new Set(['bkp', 'pbl', 'mfr', 'prt', 'dst'])

function peopleOf(opf: Metadata): Author[] | undefined {
  const people = (['creator', 'contributor'] as const).flatMap((name) =>
    opf.all(name).flatMap((entry) => {
      const written = entry.element.attributes.get('role')
      const roles = written === undefined ? opf.refinements(entry.element.attributes.get('id'), 'role') : [written]
      const known = (roles.length === 0 ? [''] : roles.slice(0, ROLES_MAX)).map((role) =>
        role
          .trim()
          .toLowerCase()
          .replace(/^.*[/#:]/, ''),
      )
      return known
        .filter((role) => !NOT_PEOPLE.has(role))
        .map((role) => ({
          name: entry.text,
          role: ROLES.get(role) ?? (name === 'creator' && !/^[a-z]{3}$/.test(role) ? ('author' as const) : ('contributor' as const)),
          sortName: ownSortName(entry.text, opf.refinement(entry, 'file-as')),
        }))
    }),
  )
  const authors = authorsOf(people)
  return authors.length === 0 ? undefined : authors
}

/** Some versions of calibre give each of several authors the joined sort names of all. */
const ownSortName = (name: string, fileAs: string | undefined) => (fileAs?.includes(' & ') && !name.includes('&') ? undefined : fileAs)

/** EPUB 3's collection of type series, then calibre's series, then an untyped collection with a position. */
function seriesOf(opf: Metadata): { name: string; position: string | undefined } | undefined {
  const collections = opf.collections().map(({ id, text }) => ({
    name: text,
    type: opf.refinements(id, 'collection-type')[0]?.toLowerCase(),
    position: opf.refinements(id, 'group-position')[0],
  }))
  const named = collections.find(({ type }) => type === 'series')
  if (named) return named
  const calibre = opf.meta('calibre:series')
  if (calibre !== undefined) return { name: calibre, position: opf.meta('calibre:series_index') }
  return collections.find(({ type, position }) => type === undefined && position !== undefined)
}

/** Schemes that identify the file or the program and that no service can look up. */
const OWN_SCHEMES = new Set(['uuid', 'calibre', 'uri', 'url', 'id', 'bookid', 'http', 'https', 'urn'])

function identifiersOf(opf: Metadata, remarks: Remarks): { isbns: string | undefined; externalIds: Record<string, string> | undefined } {
  const isbns: string[] = []
  const externalIds: Record<string, string> = {}
  for (const entry of opf.all('identifier')) {
    const text = foldSpace(entry.text)
    const prefixed = /^(?:urn:)?([a-z][a-z0-9_-]{1,30}):\s*(\S.*)$/i.exec(text)
    const scheme = (prefixed?.[1] ?? entry.element.attributes.get('scheme') ?? '').toLowerCase()
    const value = prefixed?.[2] ?? text
    if (scheme === 'isbn' || /^isbn[\s-]*(1[03])?[\s:]/i.test(text)) isbns.push(value.replace(/^isbn[\s:-]+/i, ''))
    // Without such a scheme, only a number with a correct check digit is an ISBN.
    else if (scheme === '' || OWN_SCHEMES.has(scheme)) isbns.push(...readIsbns(value).valid)
    else if (/^[a-z][a-z0-9_-]*$/.test(scheme) && value.length <= NAME_LENGTH_MAX && !(scheme in externalIds)) {
      externalIds[scheme] = lineOf(value) ?? ''
    }
  }
  return {
    isbns: isbnsOf(isbns, 'dc:identifier', remarks),
    externalIds: Object.keys(externalIds).length === 0 ? undefined : externalIds,
  }
}

/** Custom columns of a calibre library, by name: the only free-form part of such a file. */
function calibreColumns(opf: Metadata): Record<string, unknown> | undefined {
  const columns: Record<string, unknown> = {}
  for (const [key, text] of opf.metas('calibre:user_metadata')) {
    const given = parseObject(text)
    if (given === null) continue
    const name = key.slice('calibre:user_metadata:'.length)
    // EPUB 2 has one meta per column, EPUB 3 one for all columns.
    for (const [column, facts] of name === '' ? Object.entries(given) : [[name, given] as const]) {
      const value = typeof facts === 'object' && facts !== null && '#value#' in facts ? facts['#value#'] : undefined
      const plain =
        ['string', 'number', 'boolean'].includes(typeof value) || (Array.isArray(value) && value.every((v) => typeof v === 'string'))
      if (plain && value !== '' && !(Array.isArray(value) && value.length === 0)) columns[column.replace(/^#/, '')] = value
    }
  }
  const text = JSON.stringify(columns)
  return text === '{}' || Buffer.byteLength(text) > CUSTOM_BYTES_MAX ? undefined : columns
}
