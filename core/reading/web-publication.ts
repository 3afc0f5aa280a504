import type { Static } from 'typebox'
import Type from 'typebox'
import { Locator } from '#core/reading/progression.ts'

/** A link of a Readium web publication; `children` and `alternate` are links too. */
export const WebLink = Type.Object(
  {
    href: Type.String(),
    type: Type.Optional(Type.String()),
    title: Type.Optional(Type.String()),
    rel: Type.Optional(Type.String()),
    width: Type.Optional(Type.Integer({ exclusiveMinimum: 0 })),
    height: Type.Optional(Type.Integer({ exclusiveMinimum: 0 })),
    properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    alternate: Type.Optional(Type.Array(Type.Unknown())),
    children: Type.Optional(Type.Array(Type.Unknown())),
  },
  { title: 'WebLink' },
)
export type WebLink = Static<typeof WebLink>

const Links = Type.Array(WebLink)

/** A Readium web-publication manifest. Its links are relative to its own address, except the link to itself. */
export const WebPublication = Type.Object(
  {
    '@context': Type.String(),
    metadata: Type.Record(Type.String(), Type.Unknown(), { description: 'By the metadata schema of Readium web publications.' }),
    links: Links,
    readingOrder: Links,
    resources: Type.Optional(Links),
    toc: Type.Optional(Links),
    landmarks: Type.Optional(Links),
    pageList: Type.Optional(Links),
  },
  { title: 'WebPublication' },
)
export type WebPublication = Static<typeof WebPublication>

export const WEBPUB_TYPE = 'application/webpub+json'
export const DIVINA_TYPE = 'application/divina+json'
export const POSITIONS_TYPE = 'application/vnd.readium.position-list+json'
export const PROGRESSION_TYPE = 'application/vnd.readium.progression+json'

/** `application/vnd.readium.position-list+json`. */
export const PositionList = Type.Object({ total: Type.Integer({ minimum: 0 }), positions: Type.Array(Locator) }, { title: 'PositionList' })
export type PositionList = Static<typeof PositionList>

/** The addresses of the parts of a publication in one protocol: relative to its manifest or absolute. */
export interface PublicationAddresses {
  /** Of the manifest itself; absolute if the server knows its own address. */
  manifest: string
  positions: string
  progression: string
  /** The file of the book. */
  file: string
  cover: string
  /** @param path encoded for a URL */
  resource(path: string): string
  /** @param number from 1 */
  page(number: number): string
  /** A picture format that every client supports. */
  pageAsJpeg(number: number): string
}

/** Our own, relative to the manifest. @param manifest absolute, or at least the path */
export const relativeAddresses = (manifest: string): PublicationAddresses => ({
  manifest,
  positions: 'positions',
  progression: 'progression',
  file: 'file',
  cover: 'thumbnail',
  resource: (path) => `resource/${path}`,
  page: (number) => `pages/${number}`,
  pageAsJpeg: (number) => `pages/${number}?format=jpeg`,
})

/** Distinguishes the address styles of protocols, as a key for caches. */
export const addressesKey = (addresses: PublicationAddresses): string =>
  [addresses.file, addresses.page(1), addresses.resource('')].join(' ')
