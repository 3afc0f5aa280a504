import { NAME } from '#api/http/version.ts'
import { ATOM_ROOT } from '#api/opds/addresses.ts'
import { atomType } from '#api/opds/atom.ts'
import { documentOf, element } from '#api/opds/xml.ts'

/**
 * The OpenSearch 1.1 description of the search. The address for books comes first, since clients use the first one whose type they support.
 * @param origin of this server as the client sees it: some clients do not resolve relative templates. Null: a path
 */
export function writeSearchDescription(origin: string | null): Buffer {
  const address = (kind: 'acquisition' | 'navigation', path: string) =>
    element('Url', { type: atomType(kind), template: `${origin ?? ''}${ATOM_ROOT}${path}?query={searchTerms}` })
  return documentOf(
    element('OpenSearchDescription', { xmlns: 'http://a9.com/-/spec/opensearch/1.1/' }, [
      element('ShortName', {}, [NAME]),
      element('Description', {}, ['Finds books by words in their titles, people and series.']),
      element('InputEncoding', {}, ['UTF-8']),
      element('OutputEncoding', {}, ['UTF-8']),
      address('acquisition', '/search'),
      address('navigation', '/search/series'),
    ]),
  )
}
