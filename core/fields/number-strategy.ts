/** Where the number of a book may come from, by the strategy of its library. Persons and plugins stand above all of them. */
const ORIGINS: Readonly<Record<string, readonly ('metadata' | 'name' | 'position')[]>> = {
  file_order: ['position'],
  metadata: ['metadata'],
  filename: ['name'],
  smart: ['metadata', 'name', 'position'],
}

const takes = (strategy: string, origin: 'metadata' | 'name' | 'position'): boolean => ORIGINS[strategy]?.includes(origin) ?? false

/** Settings of the strategies for numbers; each has its own. */
export interface NumberConfig {
  /** Of `file_order`: the number of the first book, 1 by default. */
  start?: number
  /** Of `smart`: false leaves a book without a number that has none by its metadata or name. */
  usePosition?: boolean
}

/** The first number by position; null when positions are no numbers. */
export const firstPosition = (strategy: string, config: NumberConfig | null): number | null =>
  takes(strategy, 'position') && config?.usePosition !== false ? (config?.start ?? 1) : null

/** The fields in a file, without a number that does not count. */
export const embeddedFields = <Fields extends { number?: unknown }>(strategy: string, fields: Fields): Fields =>
  takes(strategy, 'metadata') || fields.number === undefined ? fields : { ...fields, number: null }

/** The fields that names give. Without the number where only the position can give one: it stays as it is. */
export function namedFields<Fields extends { number: number | null }>(
  strategy: string,
  fields: Fields,
): Omit<Fields, 'number'> & { number?: number | null } {
  const number = takes(strategy, 'name') ? fields.number : null
  if (number !== null || !takes(strategy, 'position')) return { ...fields, number }
  const { number: _, ...others } = fields
  return others
}
