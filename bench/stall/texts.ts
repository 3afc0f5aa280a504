/** Texts that are compared, folded and searched in more than one way. */
const LETTERS = 'Élan vital – ß 12, '
export const fill = (length: number, before = ''): string =>
  (before + LETTERS.repeat(Math.ceil(length / LETTERS.length))).slice(0, length).trimEnd()
export const many = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))
const names = (what: string) => many(200, (index) => fill(100, `${what} ${index} `))

/** Names of genres or tags that one request may bring, as long as they may be; and others. */
export const NAMES = names('first')
export const OTHER_NAMES = names('other')
