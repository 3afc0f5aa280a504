import type { Embedded, Problem } from '#core/book/analysis.ts'
import { childrenNamed, foldSpace, parseXml, textOf, XmlError } from './xml.ts'

const FILE_NAME = 'comicinfo.xml'

/** What ComicInfo.xml gave, or why it gave nothing. */
export interface ComicInfo {
  embedded: Embedded
  problem: Problem | null
}

export const NO_COMIC_INFO: ComicInfo = { embedded: {}, problem: null }

/** The ComicInfo.xml that counts, in any case of letters: the one nearest to the root, then the first. */
export function findComicInfo<Entry extends { name: string }>(entries: readonly Entry[]): Entry | undefined {
  const depth = (entry: Entry) => entry.name.split('/').length
  return entries
    .filter(
      (entry) => entry.name.slice(entry.name.lastIndexOf('/') + 1).toLowerCase() === FILE_NAME && !/(^|\/)__MACOSX\//i.test(entry.name),
    )
    .reduce<Entry | undefined>((best, entry) => (best && depth(best) <= depth(entry) ? best : entry), undefined)
}

/** The title, as far as the file says one. A file that cannot be read is a remark: the pages do not need it. */
export function readComicInfo(name: string, bytes: Uint8Array): ComicInfo {
  try {
    const { root } = parseXml(bytes)
    if (root.name.toLowerCase() !== 'comicinfo') return unreadable(name, `its root element is "${root.name}"`)
    const title = childrenNamed(root, 'Title')
      .map((element) => foldSpace(textOf(element)))
      .find((text) => text !== '')
    return { embedded: title === undefined ? {} : { title }, problem: null }
  } catch (error) {
    if (error instanceof XmlError) return unreadable(name, error.message)
    throw error
  }
}

/** For an entry that could not be had at all. */
export function unreadable(name: string, reason: string): ComicInfo {
  return { embedded: {}, problem: { type: 'metadata', message: `${name} cannot be read: ${reason}.`, fatal: false } }
}
