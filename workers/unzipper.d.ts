/** The part of unzipper that lists archives; the package ships no types. */
declare module 'unzipper' {
  import type { Readable } from 'node:stream'

  export interface ListedFile {
    pathBuffer: Buffer
    isUnicode: boolean
    flags: number
    compressionMethod: number
    crc32: number
    compressedSize: number
    uncompressedSize: number
    offsetToLocalFileHeader: number
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
