import { TEXT_LENGTH_MAX } from '#core/fields/limits.ts'
import { normalizeText } from '#core/foundation/text.ts'
import { refuseMember } from '#core/metadata/patch-rules.ts'

/** Longer than any genre; a sentence is not a tag. */
export const TAXONOMY_NAME_LENGTH_MAX = 100
/** A longer list contains keywords, not tags. */
export const NAMES_MAX = 200

/** The name for display: trimmed, with single spaces inside. A text longer than any stored one is cut. */
export function cleanName(name: string): string {
  return normalizeText(name, TEXT_LENGTH_MAX).trim().replaceAll(/\s+/g, ' ')
}

/** The key of a name: two names with one key are equal. Case and the number of spaces do not count. */
export function nameKey(name: string): string {
  return keyOfClean(cleanName(name))
}

/** The key of a name that {@link cleanName} has returned. */
export const keyOfClean = (clean: string): string => clean.toLowerCase()

/** The key of a part of a name, in which leading and trailing spaces count. */
export function nameKeyPart(part: string): string {
  return normalizeText(part, TEXT_LENGTH_MAX).replaceAll(/\s+/g, ' ').toLowerCase()
}

/**
 * The names of a request without duplicates, in their first spelling.
 * @param path of the list, for the error
 * @throws invalid_value for an empty or overlong name
 */
export function readNames(names: readonly string[], path: string): string[] {
  const read = new Map<string, string>()
  names.forEach((given, index) => {
    const name = readName(given, `${path}/${index}`)
    if (!read.has(nameKey(name))) read.set(nameKey(name), name)
  })
  return [...read.values()]
}

/** A single name of a request. @throws invalid_value as {@link readNames} */
export function readName(given: string, path: string): string {
  const name = cleanName(given)
  if (name === '') refuseMember(path, 'is empty')
  if (name.length > TAXONOMY_NAME_LENGTH_MAX) refuseMember(path, `is longer than ${TAXONOMY_NAME_LENGTH_MAX} characters`)
  return name
}
