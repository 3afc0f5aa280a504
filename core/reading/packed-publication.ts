import { setImmediate as nextTurn } from 'node:timers/promises'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { memoryBytes } from '#core/foundation/memory-bytes.ts'
import { addFolded, foldPath, normalizeArchivePath, type Publication, type PublicationFile } from '#core/reading/publication.ts'

/** An EPUB as its package describes it, with its files by path. */
export interface OpenPublication extends Publication {
  find(path: string): PublicationFile | undefined
}

const LISTS = ['spine', 'resources', 'toc', 'landmarks', 'pageList', 'files'] as const

/** A run is parsed within some milliseconds. */
const RUN_CHARACTERS = 128 * 1024
/** Runs of short records, such as those of files, take longer for their length. */
const RUN_RECORDS = 1_000

const LINE_FEED = 10

/** The package besides its lists, and the memory that all of it takes. */
type Head = Omit<Publication, (typeof LISTS)[number]> & { memory: number }

/** Writes a publication as lines of JSON: its head, then the name of a list and a run of its records on each. */
export function packPublication(publication: Publication): Uint8Array {
  const { spine, resources, toc, landmarks, pageList, files, ...rest } = publication
  const lists = { spine, resources, toc, landmarks, pageList, files }
  // The table of paths has an entry for each file.
  const memory = memoryBytes([publication, files.map(() => '')])
  const lines = [JSON.stringify({ ...rest, memory } satisfies Head)]
  for (const name of LISTS) for (const run of runsOf(lists[name])) lines.push(`["${name}",${run}]`)
  return Buffer.from(lines.join('\n'))
}

function* runsOf(records: readonly unknown[]): Generator<string> {
  let run: string[] = []
  let length = 0
  for (const record of records) {
    const text = JSON.stringify(record)
    run.push(text)
    length += text.length
    if (length < RUN_CHARACTERS && run.length < RUN_RECORDS) continue
    yield run.join()
    run = []
    length = 0
  }
  if (run.length > 0) yield run.join()
}

/** Reads what packPublication has written, with a turn of the event loop after each run. */
export async function unpackPublication(bytes: Uint8Array): Promise<{ publication: OpenPublication; memory: number }> {
  const text = bufferOf(bytes)
  const lists: Pick<Publication, (typeof LISTS)[number]> = { spine: [], resources: [], toc: [], landmarks: [], pageList: [], files: [] }
  const exact = new Map<string, PublicationFile>()
  const folded = new Map<string, PublicationFile>()
  let end = lineEnd(text, 0)
  const { memory, ...rest } = JSON.parse(text.toString('utf8', 0, end)) as Head
  while (end < text.length) {
    await nextTurn()
    const start = end + 1
    end = lineEnd(text, start)
    const [name, ...run] = JSON.parse(text.toString('utf8', start, end)) as [keyof typeof lists, ...never[]]
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

function lineEnd(text: Buffer, start: number): number {
  const at = text.indexOf(LINE_FEED, start)
  return at < 0 ? text.length : at
}
