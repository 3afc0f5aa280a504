const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Bytes as people read them, in steps of 1024: `1.5 MB`. */
export function describeBytes(bytes: number, units: readonly string[] = UNITS): string {
  let unit = 0
  let value = bytes
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}
