export interface ConsentEntry {
  text: string
  /** Words of the author of the plugin, which nobody has checked. */
  isByAuthor: boolean
}

/**
 * What a plugin asks for, without the layout for terminals: lines of less than 80 columns, indented by two, those of the author behind a `>`;
 * what goes on in a further line is indented by two more.
 */
export function consentEntries(lines: readonly string[]): ConsentEntry[] {
  const entries: ConsentEntry[] = []
  for (const line of lines) {
    const [, marker = '', indent = '', text = ''] = /^ {0,2}(> ?)?( *)(.*)$/.exec(line) ?? []
    const last = entries.at(-1)
    const isByAuthor = marker !== ''
    if (last && indent.length >= 2 && last.isByAuthor === isByAuthor) last.text += ` ${text}`
    else if (text !== '') entries.push({ text, isByAuthor })
  }
  return entries
}
