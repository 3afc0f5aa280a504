import { serverAddress } from '#api/client.ts'
import { Problem, readProblem } from '#api/problem.ts'
import { readerTexts } from '#texts/reader.ts'
import { noteSignedOut } from '../shared/use-return.ts'
import type { PageSource, WantedPage } from './page-loader.ts'

/** Formats that every browser of the build's targets shows; the server converts others. */
const ACCEPT = 'image/avif,image/webp,image/jpeg,image/png,image/gif,image/svg+xml;q=0.1'

/** @param hash of the file, by which browsers keep pages for good */
export function pageAddress(bookId: string, hash: string, { page, width }: WantedPage): string {
  const query = new URLSearchParams({ v: hash, ...(width !== undefined && { width: String(width) }) })
  return serverAddress(`api/v1/books/${bookId}/pages/${page}?${query}`)
}

/** The pages of a book on the server. */
export const pageSourceOf = (bookId: string, hash: string): PageSource => ({
  async fetch(wanted, { signal, onBytes }) {
    try {
      const response = await fetch(pageAddress(bookId, hash, wanted), { signal, headers: { Accept: ACCEPT }, credentials: 'same-origin' })
      if (!response.ok) {
        const problem = readProblem(response, await response.json().catch(() => null))
        noteSignedOut(problem)
        throw problem
      }
      return await readBlob(response, onBytes)
    } catch (error) {
      throw signal.aborted || error instanceof Problem ? error : Problem.fromNetwork(error)
    }
  },
  explain(error) {
    // The server speaks of a request that people did not make.
    if (error instanceof Problem && error.status === 422) return { sentence: readerTexts.pageDamaged(), requestId: error.requestId }
    if (error instanceof Problem) return { sentence: error.message, requestId: error.requestId }
    return { sentence: readerTexts.pageUndecodable(), requestId: null }
  },
})

async function readBlob(response: Response, onBytes: (received: number, total: number | null) => void): Promise<Blob> {
  const stated = Number(response.headers.get('Content-Length'))
  const total = stated > 0 && !response.headers.has('Content-Encoding') ? stated : null
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let received = 0
  const reader = response.body?.getReader()
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    chunks.push(part.value)
    received += part.value.length
    onBytes(received, total)
  }
  return new Blob(chunks, { type: response.headers.get('Content-Type') ?? '' })
}
