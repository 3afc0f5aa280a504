/** Texts whose comparison, folding and search take several steps. */
const LETTERS = 'Élan vital – ß 12, '
export const fill = (length: number, before = ''): string =>
  (before + LETTERS.repeat(Math.ceil(length / LETTERS.length))).slice(0, length).trimEnd()
export const many = <Value>(count: number, make: (index: number) => Value): Value[] =>
  Array.from({ length: count }, (_, index) => make(index))
const names = (what: string) => many(200, (index) => fill(100, `${what} ${index} `))

/** As many names of genres or tags as one request may contain, as long as allowed. */
export const NAMES = names('first')
export const OTHER_NAMES = names('other')
