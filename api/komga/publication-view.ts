import Type from 'typebox'
import { type PublicationAddresses, relativeAddresses, WebPublication } from '#core/reading/web-publication.ts'

const { '@context': _, metadata: __, ...lists } = WebPublication.properties

/** A web-publication manifest as Komga writes it: `context` without the at sign, people as names, the series as a list. */
export const KomgaPublication = Type.Object(
  {
    context: Type.String(),
    metadata: Type.Record(Type.String(), Type.Unknown(), {
      description: 'People and publishers are lists of names, `belongsTo.series` is a list.',
    }),
    ...lists,
  },
  { title: 'KomgaPublication' },
)
/** A manifest of ours with the members of Komga's. */
export type KomgaPublication = Omit<WebPublication, '@context'> & { context: string }

const PEOPLE = ['author', 'translator', 'editor', 'illustrator', 'letterer', 'penciler', 'colorist', 'inker', 'contributor', 'publisher']

type Named = string | { name: string }
const listOf = <T>(value: T | T[]): T[] => (Array.isArray(value) ? value : [value])
const nameOf = (one: Named): string => (typeof one === 'string' ? one : one.name)

export function komgaPublication({ '@context': context, metadata, ...manifest }: WebPublication): KomgaPublication {
  const { '@type': _type, layout, belongsTo, ...known } = metadata
  const people = PEOPLE.filter((role) => known[role] !== undefined).map((role) => [
    role,
    listOf(known[role] as Named | Named[]).map(nameOf),
  ])
  const series = (belongsTo as { series?: object } | undefined)?.series
  return {
    context,
    metadata: {
      ...known,
      ...Object.fromEntries(people),
      ...(series !== undefined && { belongsTo: { series: listOf(series) } }),
      // Where Komga tells it; `layout` is what Readium calls it by now.
      ...(layout !== undefined && { layout, rendition: { layout } }),
    },
    ...manifest,
  }
}

/**
 * Whole addresses, for apps take them apart: what leads to a chapter must be its own.
 * @param of.origin null where nobody says how the server is seen: paths then
 * @param of.path of the request, whose first part is the prefix
 */
export function komgaAddresses(of: { origin: string | null; path: string }, bookId: string): PublicationAddresses {
  const base = `${of.origin ?? ''}/${of.path.split('/', 2)[1]}/api/v1/books/${bookId.toLowerCase()}`
  return {
    manifest: `${base}/manifest`,
    positions: `${base}/positions`,
    progression: `${base}/progression`,
    file: `${base}/file`,
    cover: `${base}/thumbnail`,
    resource: (path) => `${base}/resource/${path}`,
    page: (number) => `${base}/pages/${number}`,
    pageAsJpeg: (number) => `${base}/pages/${number}?convert=jpeg`,
  }
}

/** Of places in a book: parts of a text are named by their path in its archive, which apps put behind `…/resource/`. */
export const LOCATOR_ADDRESSES: PublicationAddresses = { ...relativeAddresses('manifest'), resource: (path) => path }
