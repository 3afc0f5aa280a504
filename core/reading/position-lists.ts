import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { viewerKey } from '#core/account/visibility.ts'
import { SingleFlight } from '#core/database/single-flight.ts'
import { BoundedCache } from '#core/foundation/bounded.ts'
import type { BookRequest, ReadingDependencies } from '#core/reading/manifest.ts'
import { getPositions } from '#core/reading/positions.ts'
import type { Locator } from '#core/reading/progression.ts'
import { addressesKey, type PublicationAddresses } from '#core/reading/web-publication.ts'

/** A list of 11,000 positions takes 2.6 MB, and 100 KB compressed: enough for hundreds of such books, or for all short ones read at the same time. */
const MEMORY_BYTES_MAX = 32 * 1024 * 1024
/** Locators written per turn of the event loop: two milliseconds. */
const LOCATORS_PER_TURN = 500
/** 128 bits distinguish lists. */
const ETAG_DIGITS = 32
/** Part of every ETag: increase it when locators are written differently. */
const SHAPE = 1

/** The positions of a book as JSON (`PositionList`), compressed. */
interface PackedPositions {
  /** Identifies this list of this version of the book's file; without quotes. */
  etag: string
  /** @throws what `getPositions` throws */
  gzipped(): Promise<Uint8Array>
}

type Dependencies = Pick<ReadingDependencies, 'publications' | 'pageReader'>

/** Position lists: made once for each version of a file, kept compressed. Apps request the whole list whenever a book is opened. */
export class PositionLists {
  readonly #dependencies: Dependencies
  readonly #flights = new SingleFlight()
  readonly #packed = new BoundedCache<Uint8Array>({ bytesMax: MEMORY_BYTES_MAX })

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws not_found (no such book, or hidden), not_analyzed */
  async get(request: BookRequest, addresses: PublicationAddresses): Promise<PackedPositions> {
    const book = await this.#dependencies.publications.getReadable(request)
    const version = [SHAPE, book.libraryPath, book.path, book.fileBytes, book.mtimeNs, book.version, addressesKey(addresses)].join('\0')
    const etag = createHash('sha256').update(version).digest('hex').slice(0, ETAG_DIGITS)
    return { etag, gzipped: async () => this.#packed.get(etag) ?? (await this.#pack(etag, request, addresses)) }
  }

  #pack(etag: string, request: BookRequest, addresses: PublicationAddresses): Promise<Uint8Array> {
    // Of one caller: the work has the rights and the connections of the one that began it.
    return this.#flights.join(`${etag} ${viewerKey(request.caller)}`, request.signal, async (signal) => {
      const { total, locators } = await getPositions(this.#dependencies, { ...request, signal }, addresses)
      const packed = await gzipText(positionListText(total, locators), signal)
      this.#packed.set(etag, packed)
      return packed
    })
  }

  /** Cancels lists that are being made. */
  close(): Promise<void> {
    return this.#flights.close()
  }
}

/** `PositionList` as JSON, in pieces, with turns of the event loop between them. */
async function* positionListText(total: number, locators: Iterable<Locator>): AsyncGenerator<string> {
  let text = `{"total":${total},"positions":[`
  let count = 0
  for (const locator of locators) {
    text += (count++ === 0 ? '' : ',') + JSON.stringify(locator)
    if (count % LOCATORS_PER_TURN !== 0) continue
    yield text
    text = ''
    await nextTurn()
  }
  yield `${text}]}`
}

/** Compresses in the thread pool. */
async function gzipText(text: AsyncIterable<string>, signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  await pipeline(
    text,
    createGzip(),
    async (packed: AsyncIterable<Buffer>) => {
      for await (const chunk of packed) chunks.push(chunk)
    },
    { signal },
  )
  return Buffer.concat(chunks)
}
