import { bookCoverHref, COVER_SIZES, fileHref, manifestHref, OPDS2_ROOT, progressionHref } from '#api/opds/addresses.ts'
import {
  type Contributor,
  type FacetGroup,
  type Feed,
  type FeedAddress,
  type FeedPublication,
  type Group,
  hrefOf,
  type NavigationEntry,
  type Paging,
  pagesOf,
  type Relation,
} from '#api/opds/feed-model.ts'
import { CONTRIBUTOR_OF_ROLE } from '#core/fields/contributor-role.ts'
import { languageTag } from '#core/fields/language-tag.ts'
import { dayOf } from '#core/fields/release-date.ts'
import { DIVINA_TYPE, PROGRESSION_TYPE, WEBPUB_TYPE } from '#core/reading/web-publication.ts'

/** Writes feeds as OPDS 2.0: JSON in the format of Readium web publications. Unknown members are left out, never null. */

export const FEED_TYPE = 'application/opds+json'
export const PUBLICATION_TYPE = 'application/opds-publication+json'
const RELATIONS: Record<Relation, string> = { new: 'http://opds-spec.org/sort/new', recommended: 'http://opds-spec.org/recommended' }
interface Link {
  href: string
  rel?: string
  type?: string
  title?: string
  templated?: true
  properties?: object
}

const written = (value: object, mediaType: string) => ({ bytes: Buffer.from(JSON.stringify(value)), mediaType })

/** A feed and its media type. */
export function writeJsonFeed(feed: Feed): { bytes: Buffer; mediaType: string } {
  const { self, ...pages } = pagesOf(feed)
  const groups = feed.groups.filter(({ navigation, publications }) => navigation.length + publications.length > 0)
  const isEmpty = feed.navigation.length + feed.publications.length + groups.length === 0
  const navigation = isEmpty ? [NOTHING] : feed.navigation.map(navigationLink)
  const value = {
    metadata: { title: feed.title, identifier: feed.id, modified: feed.updated, ...(feed.paging && pagingMembers(feed.paging)) },
    links: [
      linkTo(self, 'self'),
      linkTo({ path: '', kind: 'navigation' }, 'start'),
      ...(feed.up ? [linkTo(feed.up, 'up')] : []),
      ...Object.entries(pages).map(([relation, place]) => linkTo(place, relation)),
      { rel: 'search', href: `${OPDS2_ROOT}/search{?query}`, type: FEED_TYPE, templated: true as const },
      ...feed.navigation.flatMap(({ relation, place, title }) => (relation ? [linkTo(place, RELATIONS[relation], title)] : [])),
    ] satisfies Link[],
    ...(feed.facets.length > 0 && { facets: feed.facets.map(facetGroup) }),
    ...(navigation.length > 0 && { navigation }),
    ...(feed.publications.length > 0 && { publications: feed.publications.map(publicationOf) }),
    ...(groups.length > 0 && { groups: groups.map(groupOf) }),
  }
  return written(value, FEED_TYPE)
}

/** The full record of a book as a document of its own. */
export function writePublication(publication: FeedPublication): { bytes: Buffer; mediaType: string } {
  return written(publicationOf(publication), PUBLICATION_TYPE)
}

/** A feed must have a link, so an empty one links back to the root. */
const NOTHING: Link = { href: OPDS2_ROOT, title: 'This list is empty. Back to the start', type: FEED_TYPE, rel: 'start' }

const linkTo = (place: FeedAddress, rel: string, title?: string): Link => ({
  rel,
  href: hrefOf(OPDS2_ROOT, place),
  type: FEED_TYPE,
  ...(title !== undefined && { title }),
})

const countOf = (count: number | null) => count !== null && { properties: { numberOfItems: count } }

function navigationLink({ title, place, count }: NavigationEntry): Link {
  return { ...linkTo(place, 'subsection', title), ...countOf(count) }
}

const pagingMembers = ({ page, pageSize, total }: Paging) => ({ numberOfItems: total, itemsPerPage: pageSize, currentPage: page })

function facetGroup({ title, facets }: FacetGroup) {
  return {
    metadata: { title },
    links: facets.map(({ title: name, place, isActive, count }) => ({
      ...(isActive && { rel: 'self' }),
      href: hrefOf(OPDS2_ROOT, place),
      type: FEED_TYPE,
      title: name,
      ...countOf(count),
    })),
  }
}

function groupOf({ title, place, count, navigation, publications }: Group) {
  return {
    metadata: { title, ...(count !== null && { numberOfItems: count }) },
    links: [linkTo(place, 'self')],
    ...(navigation.length > 0 && { navigation: navigation.map(navigationLink) }),
    ...(publications.length > 0 && { publications: publications.map(publicationOf) }),
  }
}

function publicationOf(publication: FeedPublication) {
  const { id, title, subtitle, updated, issued, summary, publisher, subjects, series, pageCount, readingDirection, isbns } = publication
  const language = languageTag(publication.language)
  const published = issued === null ? null : dayOf(issued)
  return {
    metadata: {
      '@type': publication.mediaType.includes('comicbook') ? 'http://schema.org/ComicIssue' : 'http://schema.org/Book',
      title,
      identifier: `urn:uuid:${id}`,
      modified: updated,
      ...(subtitle && { subtitle }),
      ...(isbns.length > 0 && { altIdentifier: isbns.map((isbn) => `urn:isbn:${isbn}`) }),
      ...contributorMembers(publication.contributors),
      ...(publisher && { publisher }),
      ...(language && { language }),
      ...(published && { published }),
      ...(summary && { description: summary }),
      ...(subjects.length > 0 && { subject: subjects }),
      ...(pageCount > 0 && { numberOfPages: pageCount }),
      ...(readingDirection && { readingProgression: readingDirection === 'rtl' ? 'rtl' : 'ltr' }),
      ...(readingDirection === 'webtoon' && { layout: 'scrolled' }),
      belongsTo: {
        series: {
          name: series.name,
          ...(series.position !== null && { position: series.position }),
          links: [{ href: hrefOf(OPDS2_ROOT, { path: `/series/${series.id}`, kind: 'acquisition' }), type: FEED_TYPE }],
        },
      },
    },
    links: publicationLinks(publication),
    images: COVER_SIZES.toReversed().map((size) => ({ href: bookCoverHref(id, size), type: 'image/jpeg', title: `Cover, ${size}` })),
  }
}

function publicationLinks({ id, mediaType, fileBytes, hasManifest, isStreamed }: FeedPublication): (Link & { size?: number })[] {
  const manifestType = isStreamed && mediaType !== 'application/pdf' ? DIVINA_TYPE : WEBPUB_TYPE
  return [
    { rel: 'self', href: `${OPDS2_ROOT}/books/${id}`, type: PUBLICATION_TYPE },
    { rel: 'http://opds-spec.org/acquisition', href: fileHref(id), type: mediaType, ...(fileBytes > 0 && { size: fileBytes }) },
    // The same book, to read online.
    ...(hasManifest ? [{ rel: 'http://opds-spec.org/acquisition', href: manifestHref(id), type: manifestType }] : []),
    { rel: 'http://www.cantook.com/api/progression', href: progressionHref(id), type: PROGRESSION_TYPE },
  ]
}

function contributorMembers(contributors: readonly Contributor[]): Record<string, object[]> {
  const members: Record<string, object[]> = {}
  for (const { name, role, sortName } of contributors) {
    const { member, relator } = CONTRIBUTOR_OF_ROLE[role]
    members[member] ??= []
    members[member].push({ name, ...(sortName && { sortAs: sortName }), ...(relator && { role: relator }) })
  }
  return members
}
