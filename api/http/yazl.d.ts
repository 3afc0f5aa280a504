/** The part of yazl that writes archives of streams; the package ships no types. */
declare module 'yazl' {
  import type { EventEmitter } from 'node:events'
  import type { PassThrough, Readable } from 'node:stream'

  export class ZipFile extends EventEmitter {
    readonly outputStream: PassThrough
    addReadStreamLazy(
      name: string,
      options: { size: number; mtime: Date; mode: number; compress: false },
      open: (give: (error: Error | null, stream: Readable) => void) => void,
    ): void
    /** The length is known before anything is written if all sizes are. */
    end(options: { forceZip64Format: boolean }, onLength: (bytes: number) => void): void
  }
}
