import { BOOK_FIELDS } from '#core/fields/book-metadata.ts'
import type { Field } from '#core/fields/field.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { AUTHORS_MAX, CUSTOM_BYTES_MAX, NAME_LENGTH_MAX } from '#core/fields/limits.ts'
import { isPossibleDate } from '#core/fields/release-date.ts'
import { refuse } from '#core/foundation/errors.ts'
import { splitNames } from '#core/metadata/apply-patch.ts'

/** Deeper than any value that a user writes, and safe for recursive code. */
const CUSTOM_DEPTH_MAX = 16
/** A BCP 47 tag: a language of two or three letters, then script, region and other subtags. */
export const LANGUAGE = /^[a-z]{2,3}(-[a-z0-9]{1,8})*$/i
/** Strings of several people; a series has none. */
const PEOPLE = (BOOK_FIELDS as readonly Field[]).filter(({ role }) => role !== undefined).map(({ name }) => name)

/**
 * Rules for patches of users that schemas cannot express; returns the patch with normalized ISBNs.
 * @param at JSON pointer to the patch, '' for the body
 * @throws invalid_value with the path of the member
 */
export function checkPatchRules<Patch extends Readonly<Record<string, unknown>>>(patch: Patch, at = ''): Patch {
  let checked = patch
  if (typeof patch.isbns === 'string') {
    const { valid, invalid } = readIsbns(patch.isbns)
    if (invalid.length > 0) refuseMember(`${at}/isbns`, `contains ${invalid.slice(0, 3).join(', ')}, whose length or check digit is wrong`)
    checked = { ...checked, isbns: valid.join(',') }
  }
  checkNames(patch, at)
  for (const name of ['languageIso', 'language']) {
    const language = patch[name]
    if (typeof language === 'string' && language !== '' && !LANGUAGE.test(language))
      refuseMember(`${at}/${name}`, 'must be a language tag such as en or pt-BR')
  }
  if (patch.customMetadata) {
    const text = JSON.stringify(patch.customMetadata)
    if (Buffer.byteLength(text) > CUSTOM_BYTES_MAX)
      refuseMember(`${at}/customMetadata`, `must not be larger than ${CUSTOM_BYTES_MAX / 1024} KB of JSON`)
    if (depthOf(patch.customMetadata) > CUSTOM_DEPTH_MAX)
      refuseMember(`${at}/customMetadata`, `must not be nested deeper than ${CUSTOM_DEPTH_MAX} levels`)
  }
  if (!isPossibleDate(patch)) refuseDay(patch, `${at}/day`)
  return checked
}

/**
 * Refuses a date that does not exist in a record after a patch that changes a part of it: the rest may have been there before.
 * @throws invalid_value with the path of the first part in the patch
 */
export function checkDate(patch: Readonly<Record<string, unknown>>, values: Readonly<Record<string, unknown>>): void {
  const changed = DATE_PARTS.find((name) => patch[name] !== undefined)
  if (changed !== undefined && !isPossibleDate(values)) refuseDay(values, `/${changed}`)
}

const DATE_PARTS = ['day', 'month', 'year']

function refuseDay({ year, month, day }: Readonly<Record<string, unknown>>, path: string): never {
  const date = typeof year === 'number' ? `month ${month} of ${year}` : `month ${month}`
  const message = `gives a date that does not exist: ${date} has no day ${day}`
  return refuse('invalid_value', `The member ${path.slice(1)} ${message}. Send the whole date.`, { details: [{ path, message }] })
}

export function refuseMember(path: string, message: string): never {
  refuse('invalid_value', `The member ${path.slice(1)} ${message}.`, { details: [{ path, message }] })
}

/** A blank text is not a name, and a people string has the same limits as the list of people. */
function checkNames(patch: Readonly<Record<string, unknown>>, at: string): void {
  const blank = (value: unknown) => typeof value === 'string' && value.trim() === ''
  if (blank(patch.title)) refuseMember(`${at}/title`, 'must not be blank')
  for (const list of ['authors', 'awards', 'subjects']) {
    for (const [index, entry] of ((patch[list] ?? []) as ({ name: unknown } | string)[]).entries()) {
      const [path, name] = typeof entry === 'string' ? [`${at}/${list}/${index}`, entry] : [`${at}/${list}/${index}/name`, entry.name]
      if (blank(name)) refuseMember(path, 'must not be blank')
    }
  }
  for (const member of PEOPLE) {
    const names = splitNames((patch[member] as string | null | undefined) ?? '')
    if (names.length > AUTHORS_MAX) refuseMember(`${at}/${member}`, `must not name more than ${AUTHORS_MAX} people`)
    if (names.some((name) => name.length > NAME_LENGTH_MAX))
      refuseMember(`${at}/${member}`, `contains a name longer than ${NAME_LENGTH_MAX} characters; separate people by commas`)
  }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce((deepest: number, member) => Math.max(deepest, depthOf(member)), 0)
}
