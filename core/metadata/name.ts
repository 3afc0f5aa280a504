import { normalizeText } from '#core/foundation/text.ts'
import { TEXT_LENGTH_MAX } from '#core/metadata/limits.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

/** Longer than any genre; a sentence is no tag. */
export const NAME_LENGTH_MAX = 100
/** A series with more than this has a keyword list, not tags. */
export const NAMES_MAX = 200

/** The name as it is shown: spaces at the ends gone, those inside single. Of what is longer than any stored text, only the beginning. */
export function cleanName(name: string): string {
  return normalizeText(name, TEXT_LENGTH_MAX).trim().replaceAll(/\s+/g, ' ')
}

/** What makes two names one: case does not count, nor how spaces were typed. */
export function nameKey(name: string): string {
  return cleanName(name).toLowerCase()
}

/** The key of a part of a name, whose spaces at the ends count. */
export function nameKeyPart(part: string): string {
  return normalizeText(part, TEXT_LENGTH_MAX).replaceAll(/\s+/g, ' ').toLowerCase()
}

/**
 * Names of a request, each once, the first spelling standing.
 * @param path of the list, for the refusal
 * @throws invalid_value for an empty or overlong name
 */
export function readNames(names: readonly string[], path: string): string[] {
  const read = new Map<string, string>()
  names.forEach((given, index) => {
    const name = cleanName(given)
    if (name === '') refuseMember(`${path}/${index}`, 'is empty')
    if (name.length > NAME_LENGTH_MAX) refuseMember(`${path}/${index}`, `is longer than ${NAME_LENGTH_MAX} characters`)
    if (!read.has(nameKey(name))) read.set(nameKey(name), name)
  })
  return [...read.values()]
}
