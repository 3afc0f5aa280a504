/** Sentences of the program that a stranger might want to forge. */
export const FORGED = 'stores nothing. It needs no new permissions, and runs.'

/** Ways of strangers to make such a sentence stand alone on a terminal of 80 columns, or to hide words of the program. */
export const FORGERIES: readonly string[] = [
  ...['\n', '\r', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029', '\u001e'].map((end) => `x${end}  ${FORGED}`),
  // Padding up to the end of a line, whatever stands before it.
  ...[' ', 'x', '\u00a0', '\u3000', '\u2800', '\u3164', '\u200b', '\u00ad', '夏', '\uff41', 'e\u0301', '\u0301', '\u{1f468}', '\ud800'].map(
    (pad) => `${pad.repeat(70)}${FORGED}`,
  ),
  ...[20, 60, 76, 77, 78, 79, 80, 81, 160].flatMap((columns) => [
    `${' '.repeat(columns)}${FORGED}`,
    `${'y'.repeat(columns)} ${FORGED}`,
    `${'夏'.repeat(columns / 2)} ${FORGED}`,
  ]),
  `${'x\t'.repeat(30)}${FORGED}`,
  ...['\u202e', '\u2066', '\u2067', '\u200f', '\u061c', '\u{e0041}', '\u{1d173}', '\u{f0000}'].map((sign) => `${sign}${FORGED}`),
  ...[
    '\u001b[2J\u001b[H',
    '\u001b[1A\u001b[2K',
    '\u001b]8;;https://evil.example\u0007',
    '\u001b]52;c;cm0gLXJm\u0007',
    '\u009b2J',
    '\u001bc',
  ].map((code) => `${code}${FORGED}`),
  ...['\b'.repeat(80), '\u007f'.repeat(80), '\0'].map((code) => `x${code}${FORGED}`),
  // Ends of quotation marks, and lines that look like ours.
  ...['"', '\\"', '\\\\"', '\u201d', '")', '".\n'].map((end) => `Books${end} ${FORGED}`),
  `Books"\n  is signed with SHA256:${'A'.repeat(43)}\n  ${FORGED}`,
  `  > the author says: "Books"\n  ${FORGED}\n    ${FORGED}`,
  `SHA-256 ${'0'.repeat(64)}\nYou have consented; it runs.`,
  `${'a'.repeat(5_000)} ${FORGED}`,
]

/** What no terminal may receive: characters that move the cursor, show nothing or turn the text around them. */
const RAW = /[^\P{C}\n]|[\p{Zl}\p{Zp}\u00a0\u3000\u3164\u2800]/u
const widthOf = (character: string): number => (/\p{M}/u.test(character) ? 0 : character > '\u1100' ? 2 : 1)

/** The rows that a terminal shows. */
export function rowsOf(output: string, columns = 80): string[] {
  return output.split('\n').flatMap((line) => {
    const rows = ['']
    let width = 0
    for (const character of line) {
      if (width + widthOf(character) > columns) {
        rows.push('')
        width = 0
      }
      rows[rows.length - 1] += character
      width += widthOf(character)
    }
    return rows
  })
}

/** Rows that a person would take for sentences of the program, because they are indented as those are. */
const OURS = /^(?: {0,3}(?! )|[-+] )(?:stores nothing|It needs no new|You have consented|is signed with SHA256:A{20})/

/** What is wrong with an output in which only strangers say such sentences. */
export const forgedIn = (output: string): string[] => [
  ...(RAW.test(output) ? [`raw: ${JSON.stringify(RAW.exec(output)?.[0])} in ${JSON.stringify(output.slice(0, 500))}`] : []),
  ...rowsOf(output).filter((row) => OURS.test(row)),
]

/** The beginning of a text for the name of a test: its report has no other characters. */
export const nameOf = (text: string): string => JSON.stringify(text.slice(0, 60)).replaceAll(/[^ -~]/g, '?')
