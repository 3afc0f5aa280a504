import { ATOM_ROOT, bookCoverHref, fileHref, pageTemplate, SEARCH_DESCRIPTION_PATH, seriesCoverHref } from '#api/opds/addresses.ts'
import {
  type FacetGroup,
  type Feed,
  type FeedAddress,
  type FeedKind,
  type FeedPublication,
  hrefOf,
  type NavigationEntry,
  pagesOf,
  type Relation,
} from '#api/opds/feed-model.ts'
import { element, type Markup, type XmlNode, xmlDocument } from '#api/opds/xml.ts'
import type { AuthorRole } from '#core/fields/field.ts'

/** Writes feeds as OPDS 1.2: Atom with the elements of OPDS, Dublin Core, OpenSearch and page streaming (OPDS-PSE 1.2). */

const NAMESPACES = {
  xmlns: 'http://www.w3.org/2005/Atom',
  'xmlns:opds': 'http://opds-spec.org/2010/catalog',
  'xmlns:dc': 'http://purl.org/dc/terms/',
  'xmlns:thr': 'http://purl.org/syndication/thread/1.0',
  'xmlns:pse': 'http://vaemendis.net/opds-pse/ns',
}
const FEED_NAMESPACES = { ...NAMESPACES, 'xmlns:opensearch': 'http://a9.com/-/spec/opensearch/1.1/' }

export const atomType = (kind: FeedKind): string => `application/atom+xml;profile=opds-catalog;kind=${kind}`
export const ENTRY_TYPE = 'application/atom+xml;type=entry;profile=opds-catalog'
export const OPENSEARCH_TYPE = 'application/opensearchdescription+xml'
const RELATIONS: Record<Relation, string> = { new: 'http://opds-spec.org/sort/new', recommended: 'http://opds-spec.org/recommended' }
/** Roles that are authors in Atom; all others are contributors. */
const AUTHORS: readonly AuthorRole[] = ['author', 'co_author', 'writer']

/** A feed and its media type. @param name of the library: the author of the feed */
export function writeAtomFeed(feed: Feed, name: string): { bytes: Buffer; mediaType: string } {
  const { self, ...pages } = pagesOf(feed)
  const links = [
    linkTo(self, 'self'),
    linkTo({ path: '', kind: 'navigation' }, 'start'),
    feed.up && linkTo(feed.up, 'up'),
    ...Object.entries(pages).map(([relation, place]) => linkTo(place, relation)),
    element('link', { rel: 'search', type: OPENSEARCH_TYPE, href: SEARCH_DESCRIPTION_PATH, title: 'Search' }),
    element('link', { rel: 'search', type: atomType('acquisition'), href: `${ATOM_ROOT}/search?query={searchTerms}`, title: 'Search' }),
    ...feed.navigation.map(({ relation, place, title }) => (relation ? linkTo(place, RELATIONS[relation], title) : null)),
    ...feed.groups.map(({ place, title }) => linkTo(place, 'related', title)),
    ...feed.facets.flatMap(facetLinks),
  ]
  const root = element('feed', FEED_NAMESPACES, [
    element('id', {}, [feed.id]),
    element('title', {}, [feed.title]),
    element('updated', {}, [feed.updated]),
    element('author', {}, [element('name', {}, [name])]),
    ...links,
    ...(feed.paging
      ? [
          element('opensearch:totalResults', {}, [String(feed.paging.total)]),
          element('opensearch:itemsPerPage', {}, [String(feed.paging.pageSize)]),
          element('opensearch:startIndex', {}, [String((feed.paging.page - 1) * feed.paging.pageSize + 1)]),
        ]
      : []),
    ...feed.navigation.map(navigationEntry),
    ...feed.publications.map((publication) => element('entry', {}, membersOf(publication, feed.namesSeries))),
  ])
  return { bytes: xmlDocument(root), mediaType: `${atomType(feed.place.kind)};charset=utf-8` }
}

/** The full record of a book as a document of its own. */
export function writeEntry(publication: FeedPublication): { bytes: Buffer; mediaType: string } {
  const root = element('entry', NAMESPACES, membersOf(publication, false))
  return { bytes: xmlDocument(root), mediaType: `${ENTRY_TYPE};charset=utf-8` }
}

function linkTo(place: FeedAddress, rel: string, title?: string): Markup {
  return element('link', { rel, type: atomType(place.kind), href: hrefOf(ATOM_ROOT, place), title })
}

function facetLinks({ title: group, facets }: FacetGroup): Markup[] {
  return facets.map(({ title, place, isActive, count }) =>
    element('link', {
      rel: 'http://opds-spec.org/facet',
      type: atomType(place.kind),
      href: hrefOf(ATOM_ROOT, place),
      title,
      'opds:facetGroup': group,
      'opds:activeFacet': isActive ? 'true' : null,
      'thr:count': count,
    }),
  )
}

function navigationEntry({ id, title, summary, updated, place, count, coverOfSeries }: NavigationEntry): Markup {
  const cover = coverOfSeries === undefined ? null : { type: 'image/jpeg', href: seriesCoverHref(coverOfSeries) }
  const counted = count === null ? null : `${count} ${count === 1 ? 'entry' : 'entries'}`
  return element('entry', {}, [
    element('id', {}, [id]),
    element('title', {}, [title]),
    element('updated', {}, [updated]),
    element('content', { type: 'text' }, [summary ?? counted ?? title]),
    element('link', { rel: 'subsection', type: atomType(place.kind), href: hrefOf(ATOM_ROOT, place), 'thr:count': count }),
    cover && element('link', { rel: 'http://opds-spec.org/image', ...cover }),
    cover && element('link', { rel: 'http://opds-spec.org/image/thumbnail', ...cover }),
  ])
}

function membersOf(publication: FeedPublication, namesSeries: boolean): XmlNode[] {
  const { id, updated, summary, isComplete, contributors, language, publisher, issued, isbns, subjects } = publication
  const ofRole = (name: 'author' | 'contributor') =>
    contributors
      .filter(({ role }) => AUTHORS.includes(role) === (name === 'author'))
      .map((person) => element(name, {}, [element('name', {}, [person.name])]))
  const authors = ofRole('author')
  return [
    element('id', {}, [`urn:uuid:${id}`]),
    element('title', {}, [namesSeries ? titleWithSeries(publication) : publication.title]),
    element('updated', {}, [updated]),
    // A standalone entry needs an author, since it has no feed that could provide one (RFC 4287, 4.1.2).
    ...(authors.length === 0 && isComplete ? [element('author', {}, [element('name', {}, ['Unknown'])])] : authors),
    ...ofRole('contributor'),
    language && element('dc:language', {}, [language]),
    publisher && element('dc:publisher', {}, [publisher]),
    issued && element('dc:issued', {}, [issued]),
    ...isbns.map((isbn) => element('dc:identifier', {}, [`urn:isbn:${isbn}`])),
    ...subjects.map((subject) => element('category', { term: subject, label: subject })),
    // Atom requires content or a link to an alternate; the full document has no alternate.
    isComplete
      ? element('content', { type: 'text' }, [summary ?? publication.title])
      : summary && element('summary', { type: 'text' }, [summary]),
    ...publicationLinks(publication),
  ]
}

function publicationLinks({
  id,
  isComplete,
  mediaType,
  fileBytes,
  series,
  isStreamed,
  pageType,
  pageCount,
  lastRead,
}: FeedPublication): XmlNode[] {
  const image = { type: 'image/jpeg' }
  return [
    element('link', { rel: isComplete ? 'self' : 'alternate', type: ENTRY_TYPE, href: `${ATOM_ROOT}/books/${id}` }),
    element('link', { rel: 'http://opds-spec.org/acquisition', type: mediaType, href: fileHref(id), length: fileBytes }),
    element('link', { rel: 'http://opds-spec.org/image', ...image, href: bookCoverHref(id, 'large') }),
    element('link', { rel: 'http://opds-spec.org/image/thumbnail', ...image, href: bookCoverHref(id, 'small') }),
    isStreamed
      ? element('link', {
          rel: 'http://vaemendis.net/opds-pse/stream',
          type: pageType,
          href: pageTemplate(id),
          'pse:count': pageCount,
          'pse:lastRead': lastRead?.page,
          'pse:lastReadDate': lastRead?.at,
        })
      : null,
    isComplete ? linkTo({ path: `/series/${series.id}`, kind: 'acquisition' }, 'related', series.name) : null,
  ]
}

/** In a list with books of several series, a title such as "Chapter 3" needs its series. */
function titleWithSeries({ title, series }: FeedPublication): string {
  return title.toLowerCase().startsWith(series.name.toLowerCase()) ? title : `${series.name} – ${title}`
}
