import { domainToUnicode } from 'node:url'
import { parse } from 'tldts'
import { quotedText, remarksOnLetters } from '#core/foundation/stranger-text.ts'

/** Of a host that stands inside of a line; most have less than 30. */
const COLUMNS_MAX = 40

/** The part that somebody has registered, and so owns. */
const registered = (host: string): string =>
  parse(host.replace(/^\*\./, ''), { allowPrivateDomains: true, extractHostname: false }).domain ?? host.split('.').slice(-2).join('.')

/**
 * A host for a line: whole when it is short, otherwise from the end with its owner's domain in front, because the beginning of a name is what somebody
 * chooses who wants to look like another: `evil.example — openlibrary.org.cov….evil.example`.
 */
export function hostText(host: string): string {
  if (host.length <= COLUMNS_MAX) return host
  const owner = registered(host)
  const end = owner.length < COLUMNS_MAX ? `.${owner}` : host.slice(-COLUMNS_MAX)
  return `${owner} — ${host.slice(0, Math.max(8, COLUMNS_MAX - end.length))}…${end}`
}

/** Whether `hostText` leaves something out. */
export const isShortened = (host: string): boolean => host.length > COLUMNS_MAX

/** What a person should know about the letters of a host, which requests write in another way. */
export function remarksOnHost(host: string): string[] {
  if (!host.split('.').some((label) => label.startsWith('xn--'))) return []
  const name = domainToUnicode(host.replace(/^\*\./, ''))
  if (name === '') return [`${hostText(host)} is no valid international name`]
  return [`${hostText(host)} is shown by browsers as ${[quotedText(name), ...remarksOnLetters(name)].join(', ')}`]
}
