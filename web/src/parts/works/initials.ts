/** Up to two first letters of the words of a name that begin with a letter: years and brackets give none. */
export function initials(name: string): string {
  const words = name.split(/\s+/).filter((word) => /^\p{L}/u.test(word))
  return [words[0], words.length > 1 ? words.at(-1) : undefined].map((word) => [...(word ?? '')][0]?.toLocaleUpperCase() ?? '').join('')
}
