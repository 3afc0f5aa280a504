/** The part of unzipper that lists archives; the package ships no types. */
declare module 'unzipper' {
  import type { Readable } from 'node:stream'

  export interface ListedFile {
    flags: number
    compressionMethod: number
    crc32: number
    /** Null where the fields of 64 bits are cut off. */
    compressedSize: number | null
    uncompressedSize: number | null
    offsetToLocalFileHeader: number | null
  }

  export interface Source {
    size(): Promise<number>
    stream(offset: number, length?: number): Readable
  }

  const unzipper: {
    Open: { custom(source: Source, options: { tailSize: number }): Promise<{ files: PromiseLike<ListedFile[]> }> }
  }
  export default unzipper
}
