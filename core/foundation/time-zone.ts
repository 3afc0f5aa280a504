/** Whether the name is one of a time zone, such as Europe/Berlin. */
export function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

const DAY_MS = 86_400_000

/** What the clocks of the zone show, as the time at which UTC shows it. */
export const wallClockOf = (instant: Date, zone: string): Date => new Date(instant.getTime() + offsetMs(instant, zone))

/** When clocks of the zone show this, the first time if they do twice; what they skip is as much later. @param shown as of {@link wallClockOf} */
export function instantOf(shown: Date, zone: string): Date {
  // No zone changes its clocks twice in two days.
  const [before, after] = [-DAY_MS, DAY_MS].map((ms) => new Date(shown.getTime() - offsetMs(new Date(shown.getTime() + ms), zone)))
  const isShown = (instant: Date) => wallClockOf(instant, zone).getTime() === shown.getTime()
  return isShown(before as Date) || !isShown(after as Date) ? (before as Date) : (after as Date)
}

/** Between the clocks of the zone and UTC. */
function offsetMs(instant: Date, zone: string): number {
  const text = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' }).format(instant)
  const [, sign, hours, minutes] = /GMT([+-])(\d\d):(\d\d)/.exec(text) ?? ['', '+', '0', '0']
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}
