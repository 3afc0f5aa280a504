import { NAME } from '#api/http/version.ts'
import { ATOM_ROOT } from '#api/opds/addresses.ts'
import { atomType } from '#api/opds/atom.ts'
import { documentOf, element } from '#api/opds/xml.ts'

/**
 * The OpenSearch 1.1 description of how the catalog is searched: for books first, since clients take the first address whose type they know.
 * @param origin where the client sees this server; some clients join nothing to a template that is a path. Null: a path
 */
export function writeSearchDescription(origin: string | null): Buffer {
  const address = (kind: 'acquisition' | 'navigation', path: string) =>
    element('Url', { type: atomType(kind), template: `${origin ?? ''}${ATOM_ROOT}${path}?query={searchTerms}` })
  return documentOf(
    element('OpenSearchDescription', { xmlns: 'http://a9.com/-/spec/opensearch/1.1/' }, [
      element('ShortName', {}, [NAME]),
      element('Description', {}, ['Finds books by words of their titles, people and series.']),
      element('InputEncoding', {}, ['UTF-8']),
      element('OutputEncoding', {}, ['UTF-8']),
      address('acquisition', '/search'),
      address('navigation', '/search/series'),
    ]),
  )
}
