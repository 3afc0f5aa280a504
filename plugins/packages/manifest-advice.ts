import { escapedText } from '#core/foundation/stranger-text.ts'

/** What is wrong with a text that its pattern refuses, as the end of a sentence that says the rule; empty when the rule says it all. */
export type Advice = (text: string) => string

/** For one line, or for a text of several lines. */
export const unreadableAdvice =
  (lengthMax: number, { lines = false } = {}): Advice =>
  (text) => {
    const { length } = [...text]
    if (text.trim() === '') return ''
    if (length > lengthMax) return `; it has ${length} characters`
    if (!lines && /[\r\n]/.test(text)) return '; it has several lines'
    const hidden = [...text].find((letter) => escapedText(letter) !== letter && !(lines && /[\n\t]/.test(letter)))
    if (hidden !== undefined) return `; it contains ${escapedText(hidden)}, which cannot be seen, or changes how other characters are shown`
    if (/^ | $/.test(text)) return '; it begins or ends with a space'
    if (text.includes('  ')) return '; it has two spaces in a row'
    return /[\p{L}\p{N}]/u.test(text) ? '; it contains marks that do not belong to the letter before them' : '; it has no letter or digit'
  }

const NAME = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*[a-z0-9]$/

/** The name in an address, or that a service of the own network is entered by administrators. */
export const hostAdvice: Advice = (text) => {
  if (text.includes('*')) return ''
  const address = URL.parse(text.includes('://') ? text : `https://${text}`)
  if (address === null) return ''
  const { hostname } = address
  const isName = NAME.test(hostname)
  if (isName && hostname !== text) return `; write ${hostname}`
  return isName
    ? ''
    : '. For a service on this machine or its network, let administrators enter its address: a member of config that permissions.networkFromConfig names'
}
