import type { ReadZipPage } from '#core/metadata/analysis.ts'
import { BookProblem } from '../../book-problem.ts'
import type { OpenFiles } from '../open-files.ts'
import { type CheckedEntries, checkKey, inflate, type PlacedEntry, pageProblem, readBytes } from '../zip-read.ts'
import { checkContent, refuseCutOff } from './zip.ts'

/** Serves pages of zips with one positional read each, through descriptors that stay open. */
export function openZipPages(files: OpenFiles, checked: CheckedEntries): ReadZipPage {
  return async ({ page, root, path }) => {
    if (!page.zip) {
      const problem = new BookProblem('page_extraction', `"${page.name}" cannot be read from its archive.`, { entry: page.name })
      return { problem: pageProblem(problem) }
    }
    const entry = { name: page.name, bytes: page.bytes, zip: page.zip }
    const read = (fresh: boolean) => files.withFile({ root, path }, (file) => readEntry(file, entry, checked), { fresh })
    try {
      // Somebody may have replaced the file under the open descriptor, or remounted its share (ESTALE); reopen it once.
      const bytes = await read(false).catch(() => read(true))
      return { bytes, mediaType: page.mediaType }
    } catch (error) {
      return { problem: pageProblem(error) }
    }
  }
}

async function readEntry(file: { fd: number; identity: string }, entry: PlacedEntry, checked: CheckedEntries): Promise<Uint8Array> {
  const { name, zip, bytes } = entry
  const data = await readBytes(file.fd, { offset: zip.offset, bytes: zip.compressedBytes })
  refuseCutOff(name, data, zip)
  const { content, taken } = zip.method === 0 ? { content: data, taken: data.length } : await inflate(entry, data)
  // A checksum over 700 KB costs as much as reading them, and this version of the file passed before.
  const key = checkKey(file.identity, entry)
  if (checked.get(key)) return content
  checkContent(name, content, zip, bytes)
  checked.set(key, { endsExactly: taken === data.length })
  return content
}
