/** The ISBNs in a comma-separated text. */
interface Isbns {
  /** Without hyphens and spaces, X in upper case, each once, in the order given. */
  valid: string[]
  /** As given; their length, a character or the check digit is wrong. */
  invalid: string[]
}

/** Sorts the entries of a comma-separated text; a leading "ISBN", "ISBN-13:" or "urn:isbn:" is not part of the number. */
export function readIsbns(text: string): Isbns {
  const valid = new Set<string>()
  const invalid: string[] = []
  for (const entry of text.split(/[,;]/)) {
    const given = entry.trim()
    if (given === '') continue
    const digits = given
      .replace(/^(urn:)?isbn(-1[03])?[:\s]*/i, '')
      .replaceAll(/[\s\u00AD\u2010-\u2015-]/g, '')
      .toUpperCase()
    if (isIsbn13(digits) || isIsbn10(digits)) valid.add(digits)
    else invalid.push(given)
  }
  return { valid: [...valid], invalid }
}

function isIsbn13(digits: string): boolean {
  if (!/^97[89]\d{10}$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0)
  return sum % 10 === 0
}

function isIsbn10(digits: string): boolean {
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - index), 0)
  return sum % 11 === 0
}
