import Type from 'typebox'
import { Check, Errors } from 'typebox/schema'
import { AppError, refuse } from '#core/foundation/errors.ts'
import { escapePointer } from '#core/foundation/json-pointer.ts'
import { nearestName } from '#core/foundation/nearest-name.ts'
import { isObject } from '#core/foundation/plain-object.ts'
import { briefJson, briefText, readablePattern } from '#core/foundation/stranger-text.ts'
import { ADVICE, MANIFEST_SHAPE, type Manifest, PATTERNS } from '#plugins/packages/manifest.ts'
import { type Shape, shapeAt } from '#plugins/packages/manifest-form.ts'
import { readPlainJson } from '#plugins/packages/plain-json.ts'
import { CONFIG_ADVICE, CONFIG_PATTERNS, ConfigSchema } from '#plugins/packages/plugin-config.ts'
import { describeSchemaProblem } from '#plugins/packages/schema-problem.ts'

/** `locales/<language>.json`: the texts of the manifest that people read, in another language, by the place of each, such as `config.properties.site.title`. */
const LOCALE = /^locales\/(.*)\.json$/
/** The largest manifest has 270 such texts. */
const TEXTS_MAX = 300
/** The longest text of a manifest, the description of a setting. */
const TEXT_LENGTH_MAX = 1_000
const AnyText: Shape = Type.String({ pattern: readablePattern(TEXT_LENGTH_MAX, { lines: true }), maxLength: TEXT_LENGTH_MAX })
const FORMS = {
  patterns: {
    ...CONFIG_PATTERNS,
    ...PATTERNS,
    [AnyText.pattern as string]: `must be a text of at most ${TEXT_LENGTH_MAX} readable characters`,
  },
  advice: { ...CONFIG_ADVICE, ...ADVICE },
}
/** Names of the members with texts for people; that of the plugin itself stays, because people recognize it. */
const TEXT = /\/(summary|description|reason|title)$/

interface LocaleProblem {
  /** Servers refuse the package; otherwise it is a hint for the author. */
  isError: boolean
  /** The name of the text; empty for the whole file. */
  member: string
  message: string
}

/** What is wrong with a file of translations. @param name of the file in the package */
export function localeProblems(name: string, bytes: Uint8Array, manifest: Manifest): LocaleProblem[] {
  const found: LocaleProblem[] = []
  const wrong = (message: string, member = '') => void found.push({ isError: true, member, message })
  const ofName = languageProblem(LOCALE.exec(name)?.[1] ?? '')
  if (ofName !== null) wrong(ofName)
  let value: unknown
  try {
    value = readPlainJson(bytes, (message) => refuse('invalid_value', message))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    wrong(error.message)
    return found
  }
  if (!isObject(value)) {
    wrong(`must be an object of texts by their places in manifest.json, such as { "summary": "…" }; it is ${briefJson(value)}`)
    return found
  }
  const given = Object.entries(value)
  if (given.length > TEXTS_MAX) wrong(`it has ${given.length} texts; the limit is ${TEXTS_MAX}`)
  const texts = new Map(textsOf(manifest))
  for (const [member, text] of given.slice(0, TEXTS_MAX)) {
    const shape = texts.get(member) ?? AnyText
    const [isValid, [first]] = Check(shape, text) ? [true, []] : Errors(shape, text)
    if (!isValid) wrong(first === undefined ? 'it is not a text' : describeSchemaProblem(text, first, { schema: shape, ...FORMS }), member)
    else if (!texts.has(member))
      found.push({
        isError: false,
        member,
        message: `it is no text of manifest.json, so nobody sees it${adviceOn(member, [...texts.keys()])}`,
      })
  }
  return found
}

const NAMES_LISTED_MAX = 10

function adviceOn(member: string, known: readonly string[]): string {
  const near = nearestName(member, known)
  const more = known.length > NAMES_LISTED_MAX ? ` and ${known.length - NAMES_LISTED_MAX} more` : ''
  return near === null ? `; it has ${known.slice(0, NAMES_LISTED_MAX).join(', ')}${more}` : ` (did you mean ${near}?)`
}

/** What is wrong with the language in the name of a file; null when it is the name of one, known or not. */
function languageProblem(tag: string): string | null {
  if (canonicalTags(tag).length > 0) return null
  const [meant] = canonicalTags(tag.replaceAll('_', '-'))
  return `"${briefText(tag)}" is no language; ${meant === undefined ? 'languages are such as en or pt-BR' : `write locales/${meant}.json`}`
}

/** The language of a file of translations. @returns null when its name has none */
export const localeOf = (name: string): string | null => canonicalTags(LOCALE.exec(name)?.[1] ?? '')[0] ?? null

/** The canonical form of the name of a language, as in BCP 47; nothing for any other text. */
function canonicalTags(tag: string): string[] {
  try {
    return Intl.getCanonicalLocales(tag)
  } catch {
    return []
  }
}

/** The texts of a manifest that people read: place and form. */
function* textsOf(manifest: Manifest): Generator<[place: string, form: Shape]> {
  yield* textsIn(manifest, MANIFEST_SHAPE, '')
  for (const name of ['config', 'userConfig'] as const)
    for (const [place, form] of textsIn(manifest[name], ConfigSchema as Shape, '')) yield [`${name}.${place}`, form]
}

/** Ends, because a manifest that was read is not deep. */
function* textsIn(value: unknown, schema: Shape, pointer: string): Generator<[place: string, form: Shape]> {
  if (typeof value === 'string') {
    const form = TEXT.test(pointer) ? shapeAt(schema, pointer) : undefined
    if (form?.pattern !== undefined) yield [pointer.slice(1).replaceAll('/', '.'), form]
  } else if (value !== null && typeof value === 'object')
    for (const [name, member] of Object.entries(value)) yield* textsIn(member, schema, `${pointer}/${escapePointer(name)}`)
}
