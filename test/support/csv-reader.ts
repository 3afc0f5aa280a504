/**
 * Parses a CSV file strictly by RFC 4180: lines end with CRLF, and quotes are only around whole cells.
 * @throws Error for anything else
 */
export function readCsv(text: string): string[][] {
  const rows: string[][] = []
  let at = 0
  while (at < text.length) {
    const row: string[] = []
    for (;;) {
      const quoted = /"((?:[^"]|"")*)"/y
      const bare = /[^",\r\n]*/y
      quoted.lastIndex = at
      bare.lastIndex = at
      const found = quoted.exec(text)
      if (found) row.push((found[1] as string).replaceAll('""', '"'))
      else row.push(bare.exec(text)?.[0] ?? '')
      at = found ? quoted.lastIndex : bare.lastIndex
      if (text[at] === ',') {
        at++
        continue
      }
      if (text.slice(at, at + 2) !== '\r\n') throw new Error(`no end of a line at ${at}: ${JSON.stringify(text.slice(at, at + 30))}`)
      at += 2
      break
    }
    rows.push(row)
  }
  return rows
}

/** The content of a cell before it was made safe for spreadsheets. */
export const unguarded = (cell: string): string => (/^'['\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]|^''*[\t\r\n]/u.test(cell) ? cell.slice(1) : cell)
