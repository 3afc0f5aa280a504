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
/** Our manifest with Komga's member names. */
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
      // Komga writes `rendition.layout`; Readium has renamed it to `layout`.
      ...(layout !== undefined && { layout, rendition: { layout } }),
    },
    ...manifest,
  }
}

/**
 * Absolute URLs, because apps split them and expect the host and prefix of this API in the URL of a chapter.
 * @param of.origin null if the public origin of the server is unknown: the result is then paths without an origin
 * @param of.path the path of the request; its first segment is the prefix
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

/** For locators: a chapter is named by its path in the archive, which apps append to `…/resource/`. */
export const LOCATOR_ADDRESSES: PublicationAddresses = { ...relativeAddresses('manifest'), resource: (path) => path }
