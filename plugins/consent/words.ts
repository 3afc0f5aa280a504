import { briefText } from '#core/foundation/stranger-text.ts'
import type { Difference } from '#plugins/consent/differences.ts'

/** Phrases of one answer; whoever wants all differences reads them as data. */
const PHRASES_MAX = 20
const NETWORK = '/manifest/permissions/network/'

/** What differs from the agreed record, as phrases that follow "waits for consent, because it". */
export function phrasesOf(differences: readonly Difference[]): string[] {
  const more = differences.length - PHRASES_MAX
  return [...differences.slice(0, PHRASES_MAX).map(phraseOf), ...(more > 0 ? [`has ${more} more differences`] : [])]
}

function phraseOf({ path, kind, before, after }: Difference): string {
  const name = briefText(path.replace(/^\/manifest\//, '').replace(/^\//, ''))
  const [host = '', ...deeper] = path.startsWith(NETWORK) ? path.slice(NETWORK.length).split('/') : []
  if (kind === 'added' && host !== '') return deeper.length === 0 ? `connects to ${host}` : `sends ${deeper.at(-1)} to ${host}`
  if (kind === 'changed') return `changes ${name} from ${briefText(JSON.stringify(before))} to ${briefText(JSON.stringify(after))}`
  return kind === 'added' ? `adds ${name}` : `no longer has ${name}`
}
