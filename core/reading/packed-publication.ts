import { readLines, runsOf, writeLines } from '#core/foundation/json-lines.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { addFolded, foldPath, normalizeArchivePath, type Publication, type PublicationFile } from '#core/reading/publication.ts'

/** An EPUB as its package describes it, with its files by path. */
export interface OpenPublication extends Publication {
  find(path: string): PublicationFile | undefined
}

const LISTS = ['spine', 'resources', 'toc', 'landmarks', 'pageList', 'files'] as const

/** The package besides its lists, and the memory that all of it takes. */
type Head = Omit<Publication, (typeof LISTS)[number]> & { memory: number }

/** Writes a publication as lines of JSON: its head, then the name of a list and a run of its records on each. */
export function packPublication(publication: Publication): Uint8Array {
  const { spine, resources, toc, landmarks, pageList, files, ...rest } = publication
  const lists = { spine, resources, toc, landmarks, pageList, files }
  // The table of paths has an entry for each file.
  const memory = memoryBytes([publication, files.map(() => '')])
  const head: Head = { ...rest, memory }
  return writeLines([JSON.stringify(head), ...LISTS.flatMap((name) => [...runsOf(lists[name])].map((run) => `["${name}",${run}]`))])
}

/** Reads what packPublication has written, with a turn of the event loop after each run. */
export async function unpackPublication(bytes: Uint8Array): Promise<{ publication: OpenPublication; memory: number }> {
  const lists: Pick<Publication, (typeof LISTS)[number]> = { spine: [], resources: [], toc: [], landmarks: [], pageList: [], files: [] }
  const exact = new Map<string, PublicationFile>()
  const folded = new Map<string, PublicationFile>()
  const read = readLines(bytes)
  const { memory, ...rest } = (await read.next()).value as Head
  for await (const line of read) {
    const [name, ...run] = line as [keyof typeof lists, ...never[]]
    lists[name].push(...run)
    if (name !== 'files') continue
    for (const file of run as PublicationFile[]) {
      exact.set(file.path, file)
      if (file.folded !== undefined) addFolded(folded, file.path, file, file.folded)
    }
  }
  const find = (href: string) => {
    const path = normalizeArchivePath(href)
    const found = exact.get(path)
    if (found) return found
    const name = foldPath(path)
    return folded.get(name) ?? exact.get(name)
  }
  return { publication: { ...rest, ...lists, find }, memory }
}
