import { ATOM_ROOT } from '#api/opds/addresses.ts'
import { atomType } from '#api/opds/atom.ts'
import { element, xmlDocument } from '#api/opds/xml.ts'
import { cutText } from '#core/foundation/text.ts'

/** Lengths that OpenSearch 1.1 allows. */
const SHORT_NAME_MAX = 16
const LONG_NAME_MAX = 48

/**
 * The OpenSearch 1.1 description of the search. The address for books comes first, since clients use the first one whose type they support.
 * @param name of the library
 * @param origin of this server as the client sees it: some clients do not resolve relative templates. Null: a path
 */
export function writeSearchDescription(name: string, origin: string | null): Buffer {
  const address = (kind: 'acquisition' | 'navigation', path: string) =>
    element('Url', { type: atomType(kind), template: `${origin ?? ''}${ATOM_ROOT}${path}?query={searchTerms}` })
  return xmlDocument(
    element('OpenSearchDescription', { xmlns: 'http://a9.com/-/spec/opensearch/1.1/' }, [
      element('ShortName', {}, [cutText(name, SHORT_NAME_MAX)]),
      element('Description', {}, ['Finds books by words in their titles, people and series.']),
      element('LongName', {}, [cutText(name, LONG_NAME_MAX)]),
      element('InputEncoding', {}, ['UTF-8']),
      element('OutputEncoding', {}, ['UTF-8']),
      address('acquisition', '/search'),
      address('navigation', '/search/series'),
    ]),
  )
}
