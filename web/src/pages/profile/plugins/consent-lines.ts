export interface ConsentEntry {
  text: string
  /** Words of the author of the plugin, which nobody has checked. */
  isByAuthor: boolean
  /** Of what differs: whether it is new or no longer so. Null for what stands below such an entry, and where nothing is compared. */
  change: 'added' | 'dropped' | null
}

const CHANGES = { '+': 'added', '-': 'dropped' } as const

/**
 * What a plugin asks for, or what differs in it, without the layout for terminals: lines of less than 80 columns, indented by two or behind a `+` or `-`,
 * those of the author behind a `>`; what goes on in a further line is indented by two more.
 */
export function consentEntries(lines: readonly string[]): ConsentEntry[] {
  const entries: ConsentEntry[] = []
  for (const line of lines) {
    const [, sign = '', marker = '', indent = '', text = ''] = /^([+-]?) {0,2}(> ?)?( *)(.*)$/.exec(line) ?? []
    const last = entries.at(-1)
    const isByAuthor = marker !== ''
    if (last && sign === '' && indent.length >= 2 && last.isByAuthor === isByAuthor) last.text += ` ${text}`
    else if (text !== '') entries.push({ text, isByAuthor, change: CHANGES[sign as keyof typeof CHANGES] ?? null })
  }
  return entries
}
