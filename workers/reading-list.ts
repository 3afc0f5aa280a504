import { READING_LIST_ENTRIES_MAX, type ReadingListEntry, type ReadReadingList } from '#core/shelf/reading-list.ts'
import { parseXml, type XmlElement, XmlError } from './xml.ts'

/** Longer than any title; beyond it a value could only be an attack on whatever compares it. */
const TEXT_MAX = 500

/** Reads a CBL file: `<ReadingList><Name/><Books><Book Series Number Volume Year/>…`. */
export const readReadingList: ReadReadingList = (bytes) => {
  try {
    const { root } = parseXml(bytes)
    if (root.name !== 'ReadingList') return { refused: `its root is <${cut(root.name)}> and not <ReadingList>` }
    const books = elements(root, 'Books').flatMap((list) => elements(list, 'Book'))
    if (books.length > READING_LIST_ENTRIES_MAX) return { refused: `it holds more than ${READING_LIST_ENTRIES_MAX} books` }
    const [name] = elements(root, 'Name')
    return { name: name ? cut(name.children.filter((child) => typeof child === 'string').join('')) : '', entries: books.map(entryOf) }
  } catch (error) {
    if (!(error instanceof XmlError)) throw error
    return { refused: error.message }
  }
}

function entryOf({ attributes }: XmlElement): ReadingListEntry {
  const read = (name: string) => cut(attributes.get(name) ?? '')
  return { series: read('Series'), number: read('Number'), volume: read('Volume'), year: read('Year') }
}

const elements = (parent: XmlElement, name: string): XmlElement[] =>
  parent.children.filter((child): child is XmlElement => typeof child !== 'string' && child.name === name)

/** As it can be stored and shown: no NUL, no half characters, no white space around. */
const cut = (text: string) => text.replaceAll('\0', '').trim().slice(0, TEXT_MAX).toWellFormed()
