import { ATOM, atomComplaints, attribute, opds2Complaints, withXml } from '#test/support/opds.ts'
import { get } from '#test/support/server.ts'
import { locatorComplaints, manifestComplaints } from '#test/support/webpub-schemas.ts'

/** A request of a walk. */
export interface Walked {
  /** With its query. */
  path: string
  mediaType: string
  /** The text of a document; empty for pictures and files. */
  text: string
  complaints: string[]
}

interface Link {
  href: string
  type: string
  rel: string
}

interface Found {
  complaints: string[]
  links: Link[]
}

const PROGRESSION = 'application/vnd.readium.progression+json'
const PAGE_STREAM = 'http://vaemendis.net/opds-pse/stream'
/** The media types of streamed pages and images; a link names one of them for all pages. */
const PICTURES = /^image\/(jpeg|png|gif)$/
/** The values that a client inserts into a template. */
const TERMS: Record<string, string> = { pageNumber: '0', maxWidth: '400', searchTerms: 'saga', '?query': '?query=saga' }

/** The extent of a walk: feeds and entries; also manifests of books; also their pages, chapters and files. */
export type Reach = 'feeds' | 'documents' | 'everything'

const FEED = /^application\/(atom\+xml|opds\+json|opds-publication\+json)/
const DOCUMENT = /^application\/(webpub\+json|divina\+json|vnd\.readium\.|opensearchdescription)/

/** Pictures in feeds are covers; pictures in manifests are pages. */
const isReached = ({ type, rel }: Link, reach: Reach, from: string) =>
  reach === 'everything' || FEED.test(type) || (reach === 'documents' && (DOCUMENT.test(type) || (isCover(type, rel) && FEED.test(from))))
const isCover = (type: string, rel: string) => type === 'image/jpeg' && rel !== PAGE_STREAM

/**
 * Follows the links of a catalog as an app with the root URL and credentials would, each address once. Checks that every response has the type of its link
 * and that documents match the schemas of their kind.
 * @param options.most maximum number of addresses @param options.reach the links to follow
 */
export async function walkCatalog(
  url: string,
  start: string,
  { headers, most = 400, reach = 'everything' }: { headers: Record<string, string>; most?: number; reach?: Reach },
): Promise<Walked[]> {
  const waiting: (Link & { from: string })[] = [{ href: start, type: '', rel: '', from: start }]
  const seen = new Set([start])
  const walked: Walked[] = []
  for (let next = waiting.shift(); next !== undefined && walked.length < most; next = waiting.shift()) {
    const { href: path, from } = next
    const { status, headers: answered, bytes } = await get(url + path, { headers })
    const mediaType = String(answered['content-type'] ?? '')
    if (status !== 200 && !(status === 204 && next.type === PROGRESSION)) {
      const complaint = `answered ${status} to a link of ${from}: ${bytes.toString().slice(0, 300)}`
      walked.push({ path, mediaType, text: bytes.toString(), complaints: [complaint] })
      continue
    }
    const { complaints, links } = status === 204 ? { complaints: [], links: [] } : examine(bytes, mediaType)
    if (status === 200 && !matchesLink(next, mediaType)) complaints.push(`is ${mediaType}, but a link of ${from} says ${next.type}`)
    walked.push({ path, mediaType, text: /xml|json/.test(mediaType) ? bytes.toString() : '', complaints })
    for (const link of links) {
      const target = targetOf(link.href, url + path)
      if (!target.startsWith(`${url}/`)) complaints.push(`leads to another server: ${link.href}`)
      else if (!seen.has(target.slice(url.length)) && isReached(link, reach, mediaType)) {
        seen.add(target.slice(url.length))
        waiting.push({ ...link, href: target.slice(url.length), from: path })
      }
    }
  }
  return walked
}

/** All problems of a walk, each with its path. */
export const complaintsOf = (walked: readonly Walked[]): string[] =>
  walked.flatMap(({ path, complaints }) => complaints.map((complaint) => `${path}: ${complaint}`))

/** The address that a client computes from a link, without a fragment. */
function targetOf(href: string, base: string): string {
  const filled = href.replace(/\{(\??\w+)\}/g, (template, name: string) => TERMS[name] ?? template)
  const target = new URL(filled, base)
  target.hash = ''
  return target.href
}

/** Whether a response matches its link: the same type, with every named parameter. */
function matchesLink({ type, rel }: Link, mediaType: string): boolean {
  if (rel === PAGE_STREAM) return PICTURES.test(mediaType) && mediaType === type
  const [wanted = '', ...parameters] = type.split(';')
  const [given, ...has] = mediaType.split(';')
  return wanted === '' || (wanted === given && parameters.every((parameter) => has.includes(parameter)))
}

/** How to check a document of each media type, and its links; other media types have no links. */
function examine(bytes: Buffer, mediaType: string): Found {
  const [type = ''] = mediaType.split(';')
  switch (type) {
    case 'application/atom+xml':
      return { complaints: [...atomComplaints(bytes), ...kindComplaints(bytes, mediaType)], links: atomLinks(bytes) }
    case 'application/opensearchdescription+xml':
      return { complaints: [], links: searchLinks(bytes) }
    case 'application/opds+json':
    case 'application/opds-publication+json':
    case 'application/webpub+json':
    case 'application/divina+json':
    case 'application/vnd.readium.position-list+json':
    case PROGRESSION:
      return examineJson(JSON.parse(bytes.toString()), type)
    default:
      return { complaints: bytes.length === 0 ? ['is empty'] : [], links: [] }
  }
}

function examineJson(value: unknown, type: string): Found {
  if (type === PROGRESSION) return { complaints: locatorComplaints((value as { locator: unknown }).locator), links: [] }
  if (type === 'application/vnd.readium.position-list+json') {
    const { positions } = value as { positions: { href: string; type: string }[] }
    const links = positions.map(({ href, type: itemType }) => ({ href, type: itemType, rel: '' }))
    return { complaints: positions.flatMap((position) => locatorComplaints(position)), links }
  }
  const complaints = type.startsWith('application/opds')
    ? opds2Complaints(value, type === 'application/opds+json' ? 'feed' : 'publication')
    : manifestComplaints(value)
  return { complaints, links: linksOf(value) }
}

/** Every object with an address, at any depth. */
function linksOf(node: unknown): Link[] {
  if (Array.isArray(node)) return node.flatMap(linksOf)
  if (typeof node !== 'object' || node === null) return []
  const { href, type, rel } = node as { href?: unknown; type?: unknown; rel?: unknown }
  const own = typeof href === 'string' ? [{ href, type: String(type ?? ''), rel: String(rel ?? '') }] : []
  return [...own, ...Object.values(node).flatMap(linksOf)]
}

const atomLinks = (bytes: Uint8Array): Link[] =>
  withXml(bytes, (root) =>
    root.find('//a:link', ATOM).map((link) => {
      const [href, type, rel] = ['href', 'type', 'rel'].map((name) => attribute(link, name)) as [string, string, string]
      return { href, type, rel }
    }),
  )

const searchLinks = (bytes: Uint8Array): Link[] =>
  withXml(bytes, (root) =>
    root.find('//*[local-name()="Url"]').map((found) => ({ href: attribute(found, 'template'), type: attribute(found, 'type'), rel: '' })),
  )

/** Navigation feeds contain no books, and acquisition feeds no links to other feeds (OPDS 1.2, section 2). */
function kindComplaints(bytes: Buffer, mediaType: string): string[] {
  const kind = /kind=(\w+)/.exec(mediaType)?.[1]
  if (kind === undefined) return []
  return withXml(bytes, (root) => {
    const rels = (entries: string) => root.find(`${entries}/a:link`, ATOM).map((link) => attribute(link, 'rel'))
    const hasBooks = rels('/a:feed/a:entry').some((rel) => rel.startsWith('http://opds-spec.org/acquisition'))
    const leads = rels('/a:feed/a:entry').includes('subsection')
    const facets = rels('/a:feed').includes('http://opds-spec.org/facet')
    if (kind === 'navigation') return hasBooks || facets ? ['a navigation feed has books or facets'] : []
    return leads ? ['an acquisition feed links to other feeds'] : []
  })
}
