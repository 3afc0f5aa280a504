import type { Problem } from '#core/fields/analysis.ts'
import type { Author, AuthorRole } from '#core/fields/field.ts'
import { readIsbns } from '#core/fields/isbn.ts'
import { AUTHORS_MAX, fittingList, LIST_MAX, NAME_LENGTH_MAX, SUMMARY_LENGTH_MAX, TEXT_LENGTH_MAX } from '#core/fields/limits.ts'
import { Register } from '#core/foundation/register.ts'
import { boundMarks, cutText, normalizeText } from '#core/foundation/text.ts'
import { isUndefinedYear, readDate } from './written-date.ts'
import { resolveReferences } from './xml-text.ts'

const INT32_MAX = 2_147_483_647
/** The maximum of the column for numbers and positions. */
const POSITION_MAX = 99_999_999
/** Values listed in the message; a file with more bad values is unusable as a whole. */
const REMARKS_MAX = 10
/** Longer values are cut where a message quotes them. */
const QUOTE_MAX = 40

/** Collects the values of a metadata file that could not be used, so that one wrong value does not spoil the rest. */
export class Remarks {
  readonly #remarks: string[] = []

  /** @param reason completes the sentence, as in "Month is not a month" */
  add(name: string, value: string, reason: string): void {
    const quoted = value.length > QUOTE_MAX ? `${value.slice(0, QUOTE_MAX - 1)}…` : value
    this.#remarks.push(`${name} "${quoted.toWellFormed()}" ${reason}`)
  }

  /** One `metadata` problem for all remarks, null when there are none. */
  problem(file: string): Problem | null {
    const count = this.#remarks.length
    if (count === 0) return null
    const listed = this.#remarks.slice(0, REMARKS_MAX)
    const more = count > listed.length ? `, and ${count - listed.length} more` : ''
    const message = `${file} has values that cannot be used: ${listed.join('; ')}${more}. Correct them in the file, or enter them here.`
    return { type: 'metadata', message, details: { remarks: listed }, fatal: false }
  }
}

/** One line for databases and screens: control characters removed, white space folded. Undefined when nothing is left. */
export function lineOf(text: string | undefined, lengthMax = TEXT_LENGTH_MAX): string | undefined {
  const line = cleaned(text).replace(/\s+/g, ' ').trim()
  return line === '' ? undefined : cut(line, lengthMax)
}

/** Keeps line ends. Cuts a text beyond the limit and adds a remark. */
export function summaryOf(text: string | undefined, name: string, remarks: Remarks): string | undefined {
  const summary = cleaned(text).trim()
  if (summary === '') return undefined
  if (summary.length > SUMMARY_LENGTH_MAX) remarks.add(name, summary, `is longer than ${SUMMARY_LENGTH_MAX} characters and was cut`)
  return cut(summary, SUMMARY_LENGTH_MAX)
}

/** Text of an HTML description, as in most OPF files; other text stays unchanged. */
export function textOfHtml(text: string): string {
  if (!/<\/?[a-z][^<>]*>/i.test(text)) return text
  const broken = text.replace(/<(?:br|\/p|\/div|\/li|\/h[1-6])\b[^<>]*>/gi, '\n')
  const bare = broken.replace(/<(script|style)\b[^<>]*>[^<]*<\/\1\s*>/gi, '').replace(/<\/?[a-z!][^<>]*>/gi, '')
  return resolveReferences(bare, () => undefined)
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n[\s]*/g, '\n')
    .trim()
}

// C0 controls except tab and line end, and what no database stores.
const cleaned = (text: string | undefined) =>
  boundMarks((text ?? '').toWellFormed()).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]/g, '')

const cut = (text: string, lengthMax: number) => (text.length <= lengthMax ? text : cutText(text, lengthMax).trimEnd())

/** The names of a separated list, without duplicates. */
export function namesOf(text: string | undefined, separator: RegExp = /[,;]/): string[] {
  const names = (text ?? '')
    .slice(0, LIST_MAX * NAME_LENGTH_MAX)
    .split(separator)
    .map((name) => lineOf(name, NAME_LENGTH_MAX))
  return fittingList([...new Set(names.filter((name) => name !== undefined))].slice(0, LIST_MAX))
}

/** People by name and role, without duplicates, up to the limit of a record. */
export function authorsOf(people: readonly { name: string | undefined; role: AuthorRole; sortName?: string | undefined }[]): Author[] {
  const authors = new Map<string, Author>()
  for (const { name, role, sortName } of people) {
    const line = lineOf(name, NAME_LENGTH_MAX)
    const key = `${role}\0${normalizeText(line ?? '', NAME_LENGTH_MAX)}`
    if (line === undefined || authors.has(key)) continue
    if (authors.size === AUTHORS_MAX) break
    const sort = lineOf(sortName, NAME_LENGTH_MAX)
    authors.set(key, sort === undefined || sort === line ? { name: line, role } : { name: line, role, sortName: sort })
  }
  return fittingList([...authors.values()])
}

/** Longer than any number with the words around it. */
const NUMBER_LENGTH_MAX = 100

/** Full-width and other digits as plain ones; empty when the text is too long for a number. */
const plainDigits = (text: string) => (text.length > NUMBER_LENGTH_MAX ? '' : normalizeText(text, NUMBER_LENGTH_MAX, 'NFKC').trim())

/** A whole number within bounds; accepts "2019.0" and full-width digits. "Not set" (empty, -1) adds no remark. */
export function wholeOf(
  text: string | undefined,
  name: string,
  remarks: Remarks,
  bounds: { min: number; max: number } = { min: 0, max: INT32_MAX },
): number | undefined {
  const written = (text ?? '').trim()
  if (written === '' || written === '-1') return undefined
  const digits = plainDigits(written)
  const value = /^[+-]?\d{1,15}(\.0+)?$/.test(digits) ? Number(digits) : Number.NaN
  if (value >= bounds.min && value <= bounds.max) return value
  remarks.add(name, written, Number.isNaN(value) ? 'is not a whole number' : `is not between ${bounds.min} and ${bounds.max}`)
  return undefined
}

const FRACTIONS = new Map([
  ['½', 0.5],
  ['¼', 0.25],
  ['¾', 0.75],
  ['⅓', 0.3333],
  ['⅔', 0.6667],
])
const NUMBER = /^([+-]?\d{1,12}(?:[.,]\d{1,4})?)(?:\.?\s*[a-z]{1,4}|\s*[/\u2013-]\s*\d+)?$/i

/** An issue number, such as 1.5, ½, 1AU (1) or 10/11 (10), with at most four places. Words before a number mean a different number. */
export function positionOf(text: string | undefined, name: string, remarks: Remarks): number | undefined {
  const written = (text ?? '').trim().replace(/^#\s*/, '')
  if (written === '') return undefined
  const fraction = FRACTIONS.get(written.at(-1) ?? '')
  const digits = NUMBER.exec(plainDigits(fraction === undefined ? written : written.slice(0, -1)))?.[1]
  const whole = digits === undefined ? (written.length === 1 && fraction !== undefined ? 0 : Number.NaN) : Number(digits.replace(',', '.'))
  const value = whole + (fraction ?? 0)
  if (Math.abs(value) <= POSITION_MAX) return value
  remarks.add(name, written, Number.isNaN(value) ? 'is not a number' : 'is too large')
  return undefined
}

/** A year within the range of books, also of a date; programs write 0, 1 and 101 for unknown. */
export function yearOf(text: string | undefined, name: string, remarks: Remarks): number | undefined {
  const isNumber = /^\s*[+-]?\d{1,5}(\.0+)?\s*$/.test(text ?? '')
  const date = text === undefined || isNumber ? undefined : readDate(text)
  const year = date ? date.year : wholeOf(text, name, remarks, { min: -9999, max: 9999 })
  return year === undefined || isUndefinedYear(year) ? undefined : year
}

/** A valid month and day; programs write 0 for unknown. */
export function monthAndDay(
  written: { year: number | undefined; month: string | undefined; day: string | undefined },
  remarks: Remarks,
): { month?: number; day?: number } {
  const known = (text: string | undefined) => (Number(text) === 0 ? undefined : text)
  const month = wholeOf(known(written.month), 'Month', remarks, { min: 1, max: 12 })
  // A day needs a month.
  if (month === undefined) return {}
  // Without a year, February 29 is valid.
  const days = new Date(Date.UTC(written.year ?? 2000, month, 0)).getUTCDate()
  const day = wholeOf(known(written.day), 'Day', remarks, { min: 1, max: days })
  return day === undefined ? { month } : { month, day }
}

/** ISBNs with a correct check digit, comma-separated; the others add remarks. */
export function isbnsOf(texts: readonly string[], name: string, remarks: Remarks): string | undefined {
  const { valid, invalid } = readIsbns(texts.join(','))
  for (const isbn of invalid) remarks.add(name, isbn, 'has a wrong length or check digit')
  return valid.length === 0 ? undefined : valid.slice(0, LIST_MAX).join(',').slice(0, TEXT_LENGTH_MAX)
}

/** BCP 47 in its usual form: pt_BR is pt-BR, jpn is ja, English is en; of a country, such as jp, CHN and cn-Hans, the language that most people there speak. */
export function languageOf(text: string | undefined, name: string, remarks: Remarks): string | undefined {
  const written = lineOf(text)
  if (written === undefined || /^(und|zxx|mis|unknown|none)$/i.test(written)) return undefined
  const named = languageNames().get(written.toLowerCase())
  if (named) return named
  const spoken = languageOfCountry(written)
  if (spoken !== undefined) {
    remarks.add(name, written, `is a country; its language, ${spoken}, is used`)
    return spoken
  }
  const tag = tagOf(written)
  const [code = ''] = tag?.split('-') ?? []
  if (code !== '' && nameOf('language', code) !== undefined) return tag
  // All codes of two letters are known here, but not the thousands of three.
  remarks.add(name, written, code.length === 3 ? 'is not a known language; it is used as it is' : 'is not a language')
  return code.length === 3 ? tag : undefined
}

function tagOf(written: string): string | undefined {
  try {
    const isTag = written.length <= 35 && /^[a-z]{2,3}([-_][a-z0-9]{2,8})*$/i.test(written)
    return isTag ? Intl.getCanonicalLocales(written.replaceAll('_', '-'))[0] : undefined
  } catch {
    return undefined
  }
}

/** Codes of languages that stand for countries: hardly anybody means Kanuri, Twi, Bihari, Braj, Chinook Jargon or Ancient Egyptian. */
const MISTAKEN = new Set(['kr', 'tw', 'bih', 'bra', 'chn', 'egy'])
/** Codes of regions that are no countries. */
const NO_COUNTRY = /^(?:eu|ez|qo|un|x[ab]|zz)$/
/** Countries in three letters, but for languages such as fra and ind; those in two where they do not begin alike. */
const COUNTRIES = new Map(
  (
    'afg ago:ao and:ad are:ae aus aut:at bdi:bi bfa bgd:bd bgr bhr bhs:bs bih:ba blr:by blz:bz bol bra brb:bb brn:bn btn bwa caf:cf ' +
    'can chl:cl chn:cn civ cmr cod:cd cog:cg col com:km cpv:cv cri cub cyp dji dma dnk:dk dom dza ecu egy eri esp eth fji fsm:fm gab ' +
    'gbr gha gin:gn gmb gnb:gw gnq:gq grd:gd gtm guy:gy hkg hnd hti idn irl:ie irn irq:iq isr:il jor kgz kna kwt lbn lbr:lr lby:ly lca ' +
    'lie lka lso ltu lux lva mco mda mdg:mg mdv:mv mex:mx mhl mli mmr mne:me mng moz:mz mrt mwi mys nam ner nga nic npl nru nzl omn ' +
    'pak:pk phl plw:pw png:pg pri prk:kp prt:pt pry:py pse qat rou rwa sau sdn sen:sn sgp slb:sb sle smr srb:rs ssd stp sur:sr svk:sk ' +
    'svn:si swz:sz tcd:td tgo tjk tkm:tm tls tto tun:tn tuv:tv twn tza ury:uy usa vct vnm vut wsm yem zaf zmb zwe'
  )
    .split(' ')
    .map((pair): [string, string] => [pair.slice(0, 3), pair.slice(4) || pair.slice(0, 2)]),
)

/** With the script behind the code. Undefined for a code that is a language too, such as br, se, uk and deu. */
function languageOfCountry(written: string): string | undefined {
  const [, code = '', script] = /^([a-z]{2,3})(?:[-_]([a-z]{4}))?(?:[-_](?:[a-z]{2,3}|\d{3}))?$/.exec(written.toLowerCase()) ?? []
  const country = code.length === 3 ? COUNTRIES.get(code) : code
  if (!country || (!MISTAKEN.has(code) && nameOf('language', code) !== undefined)) return undefined
  if (NO_COUNTRY.test(country) || nameOf('region', country.toUpperCase()) === undefined) return undefined
  const { language } = new Intl.Locale(`und-${country}`).maximize()
  if (nameOf('language', language) === undefined) return undefined
  return script === undefined ? language : Intl.getCanonicalLocales(`${language}-${script}`)[0]
}

const displays = new Register<Intl.DisplayNames>()

function nameOf(type: 'language' | 'region', code: string): string | undefined {
  const display = displays.get(type) ?? new Intl.DisplayNames('en', { type, fallback: 'none' })
  displays.set(type, display)
  return display.of(code)
}

let names: Map<string, string> | undefined

/** Language names in English and in the language itself, as people write them instead of a code. */
function languageNames(): Map<string, string> {
  if (names) return names
  names = new Map()
  const english = new Intl.DisplayNames('en', { type: 'language' })
  const codes =
    'ar bg ca cs da de el en es et eu fa fi fr gl he hi hr hu id is it ja ko la lt lv ms nb nl nn no pl pt ro ru sk sl sr sv th tr uk vi zh'
  for (const code of codes.split(' ')) {
    const own = new Intl.DisplayNames(code, { type: 'language' }).of(code)
    for (const name of [english.of(code), own]) if (name) names.set(name.toLowerCase(), code)
  }
  return names
}

/** All web URLs in a text. */
export function urlsOf(text: string | undefined): string[] {
  return [...new Set((text ?? '').split(/\s+/).filter((url) => /^https?:\/\/[^\s"<>]+$/i.test(url) && url.length <= TEXT_LENGTH_MAX))]
    .filter((url) => URL.canParse(url))
    .slice(0, LIST_MAX)
}

/** An object without undefined and empty members; undefined when nothing is left. */
export function present<T extends object>(members: { [Key in keyof T]?: T[Key] | undefined }): T | undefined {
  const kept = Object.entries(members).filter(([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0))
  return kept.length === 0 ? undefined : (Object.fromEntries(kept) as T)
}
