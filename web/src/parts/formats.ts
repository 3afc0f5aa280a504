const LANGUAGE = 'en'
const days = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium' })
const times = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'short' })
const languageNames = new Intl.DisplayNames(LANGUAGE, { type: 'language', fallback: 'code' })
const oneDigit = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1 })

/** "12 Nov 2026", or '' for what is no date. */
export const dayWords = (iso: string | null | undefined): string => write(days, iso)
/** With hours and minutes. */
export const timeWords = (iso: string | null | undefined): string => write(times, iso)

function write(format: Intl.DateTimeFormat, iso: string | null | undefined): string {
  const date = iso ? new Date(iso) : null
  return date && !Number.isNaN(date.getTime()) ? format.format(date) : ''
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

/** "207.8 MB", with a narrow space that does not break. */
export function sizeWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log(bytes) / Math.log(1000)))
  return `${oneDigit.format(bytes / 1000 ** power)}\u202f${UNITS[power]}`
}

/** "Japanese" for `ja`; the code itself where the browser does not know it. */
export function languageWords(code: string): string {
  try {
    return languageNames.of(code) ?? code
  } catch {
    // Files name their language as they like.
    return code
  }
}
