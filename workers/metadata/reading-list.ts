import { boundMarks } from '#core/foundation/text.ts'
import { READING_LIST_ENTRIES_MAX, type ReadingListEntry, type ReadingListOutcome } from '#core/shelves/reading-list.ts'
import { childrenNamed, parseXml, type XmlElement, XmlError } from './xml.ts'

/** Longer than any title; a longer value could only be an attack on comparisons. */
const TEXT_MAX = 500

/** Reads a CBL file: `<ReadingList><Name/><Books><Book Series Number Volume Year/>…`. Ignores case, because people write these files by hand. */
export function readReadingList(bytes: Uint8Array): ReadingListOutcome {
  try {
    const { root } = parseXml(bytes)
    if (root.name.toLowerCase() !== 'readinglist') return { refused: `its root element is <${cut(root.name)}>, not <ReadingList>` }
    const books = childrenNamed(root, 'Books').flatMap((list) => childrenNamed(list, 'Book'))
    if (books.length > READING_LIST_ENTRIES_MAX) return { refused: `it contains more than ${READING_LIST_ENTRIES_MAX} books` }
    const [name] = childrenNamed(root, 'Name')
    return { name: name ? cut(name.children.filter((child) => typeof child === 'string').join('')) : '', entries: books.map(entryOf) }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error
    return { refused: error.message }
  }
}

function entryOf({ attributes }: XmlElement): ReadingListEntry {
  const values = new Map(Array.from(attributes, ([name, value]) => [name.toLowerCase(), value]))
  const read = (name: string) => cut(values.get(name) ?? '')
  return { series: read('series'), number: read('number'), volume: read('volume'), year: read('year') }
}

/** Safe to store, compare and show: no NUL, no half characters, trimmed, no long runs of marks. */
const cut = (text: string) => boundMarks(text.replaceAll('\0', '').trim().slice(0, TEXT_MAX).toWellFormed())
