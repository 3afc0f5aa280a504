/**
 * The text of a service as plain text: entities are decoded once, and then markup is removed, because a decoded tag is a tag for whoever shows the text as
 * HTML. Without control characters and direction marks. Runs in linear time.
 */
export function plainText(text: string): string {
  return (
    withoutMarkup(decodeEntities(text))
      // A tag that was cut, or that the removal of another has made: no program reads it as a tag.
      .replace(/<(?=[a-z/!?])/gi, '< ')
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
  )
}

/** The beginning of a comment, or a tag; longer tags do not count as tags. */
const MARKUP = /<!--|<(\/?)([a-z][a-z0-9]*)(?![a-z0-9])[^<>]{0,2000}>/gi
const ENDS_LINE = new Set(['br', '/p', '/div', '/li'])
/** Elements without readable content, with their end tags. */
const HIDDEN_ENDS: Readonly<Record<string, RegExp>> = { script: /<\/script\s*>/gi, style: /<\/style\s*>/gi }

function withoutMarkup(text: string): string {
  let plain = ''
  let from = 0
  // An end that was not found once is not searched again, which keeps the time linear.
  const endless = new Set<string>()
  const endOf = (name: string, end: RegExp, start: number): number => {
    if (endless.has(name)) return -1
    end.lastIndex = start
    if (end.test(text)) return end.lastIndex
    endless.add(name)
    return -1
  }
  MARKUP.lastIndex = 0
  for (let found = MARKUP.exec(text); found !== null; found = MARKUP.exec(text)) {
    const [whole, slash = '', tag] = found
    const name = tag?.toLowerCase()
    const hiddenEnd = name === undefined ? /-->/g : slash === '' && Object.hasOwn(HIDDEN_ENDS, name) ? HIDDEN_ENDS[name] : undefined
    const end = hiddenEnd ? endOf(name ?? 'comment', hiddenEnd, MARKUP.lastIndex) : -1
    // A comment without an end is text.
    if (name === undefined && end < 0) continue
    plain += text.slice(from, found.index) + (ENDS_LINE.has(`${slash}${name}`) ? '\n' : '')
    from = end < 0 ? found.index + whole.length : end
    MARKUP.lastIndex = from
  }
  return plain + text.slice(from)
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  mdash: '—',
  ndash: '–',
  hellip: '…',
}
function decodeEntities(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return Object.hasOwn(ENTITIES, name.toLowerCase()) ? (ENTITIES[name.toLowerCase()] as string) : whole
    const code = name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1))
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : ''
  })
}
