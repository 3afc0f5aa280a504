/** The parser half of pdf.js, which ships without types. */
declare module 'pdfjs-dist/legacy/build/pdf.worker.mjs' {
  import type { MessagePort } from 'node:worker_threads'

  export const WorkerMessageHandler: {
    /** Serves the parser to the other end of `port`. */
    initializeFromPort(port: MessagePort): void
  }
}
