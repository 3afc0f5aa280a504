const LANGUAGE = 'en'
const NARROW_SPACE = '\u202f'
const megabytes = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1, minimumFractionDigits: 1 })
const whole = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 0 })
const days = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' })
const times = new Intl.DateTimeFormat(LANGUAGE, { hour: '2-digit', minute: '2-digit' })
const dates = new Intl.DateTimeFormat(LANGUAGE, { day: 'numeric', month: 'long', year: 'numeric' })

/** "412 KB" or "1.8 MB". */
export const bytesLabel = (bytes: number): string =>
  bytes < 1_000_000 ? `${whole.format(bytes / 1000)}${NARROW_SPACE}KB` : `${megabytes.format(bytes / 1_000_000)}${NARROW_SPACE}MB`

const DAY_MS = 86_400_000

/** "yesterday, 21:40" or, after a week, "24 November 2026". @param at ISO @param now milliseconds */
export function whenLabel(at: string, now: number): string {
  const then = new Date(at)
  const midnight = (time: number) => new Date(time).setHours(0, 0, 0, 0)
  const passed = Math.round((midnight(now) - midnight(then.getTime())) / DAY_MS)
  if (passed < 0 || passed > 7) return dates.format(then)
  return `${days.format(-passed, 'day')}, ${times.format(then)}`
}

/** "32 %". @param fraction from 0 to 1 */
export const percentLabel = (fraction: number): string => `${whole.format(fraction * 100)}${NARROW_SPACE}%`

/** "24 November 2026". @param at ISO */
export const dayLabel = (at: string): string => dates.format(new Date(at))

const hours = new Intl.NumberFormat(LANGUAGE, { style: 'unit', unit: 'hour', unitDisplay: 'narrow' })
const minutes = new Intl.NumberFormat(LANGUAGE, { style: 'unit', unit: 'minute', unitDisplay: 'short' })
/** Beyond it minutes are noise. */
const MINUTES_MAX = 10 * 60

/** "9 min", "2h 10 min" or "12h"; a started minute counts. */
export function durationLabel(seconds: number): string {
  const all = Math.max(1, Math.ceil(seconds / 60))
  if (all < 60) return minutes.format(all)
  const rest = all >= MINUTES_MAX ? 0 : all % 60
  const whole = hours.format(all >= MINUTES_MAX ? Math.round(all / 60) : Math.floor(all / 60))
  return rest === 0 ? whole : `${whole} ${minutes.format(rest)}`
}
