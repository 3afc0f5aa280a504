/** Plugins that the server brings have ids below this word. */
const OWN = 'carrel'

/** Signs of ids that are taken for others; the longer ones first. */
const ALIKE: readonly [sign: RegExp, like: string][] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
  [/0/g, 'o'],
  [/[1i]/g, 'l'],
  [/2/g, 'z'],
  [/3/g, 'e'],
  [/4/g, 'a'],
  [/5/g, 's'],
  [/[69]/g, 'g'],
  [/7/g, 't'],
  [/8/g, 'b'],
]

/** The same for ids that people may take for each other. Ids are lower-case ASCII already. */
function likenessOf(id: string): string {
  const plain = ALIKE.reduce((text, [sign, like]) => text.replace(sign, like), id.replace(/[.-]/g, ''))
  return plain.replace(/(.)\1+/g, '$1')
}

/** Whether an id is below the server's own word, or its first word looks like that. */
export const isReservedId = (id: string): boolean =>
  [/[.-]/, '.'].some((end) => likenessOf(id.split(end, 1)[0] as string) === likenessOf(OWN))

/** The other ids that people may take for this one. */
export function similarIds(id: string, others: readonly string[]): string[] {
  const likeness = likenessOf(id)
  return others.filter((other) => other !== id && likenessOf(other) === likeness)
}
