/** The process that draws pages of PDFs and decodes pictures, one at a time. Painting is native code that nothing can interrupt. */
import { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { createFrameReader, frameOf } from '#core/foundation/frames/frame.mjs'
import { BookProblem } from '../book-problem.ts'
import type { FromChild, PageDrawing, ToChild } from '../drawing.ts'
import { drawPdfPage } from '../formats/pdf/pdf.ts'
import { ENTRY_BYTES_MAX } from '../limits.ts'

// pdf.js leaves promises behind that reject after their page was canceled. Promises that somebody awaits report their own failure.
process.on('unhandledRejection', () => {})

const MESSAGE_LENGTH_MAX = 1_000

let current: { id: number; abort: AbortController } | null = null

// This thread handles no messages while it works; another one notices when the server ends.
new Worker(new URL('./server-watch.mjs', import.meta.url))
const server = new Socket({ fd: 3, readable: true, writable: true })
server.on(
  'data',
  createFrameReader(
    (header, body) => {
      const message = header as ToChild
      if (message.kind === 'draw') void draw(message.id, message.request, message.deadlineMs)
      else if (message.kind === 'picture') void drawPicture(message.id, Uint8Array.from(body), message)
      else if (current?.id === message.id) current.abort.abort()
    },
    { bodyBytesMax: ENTRY_BYTES_MAX },
  ),
)
// Without a server there is nothing to do. It ends this process whenever in doubt, and nothing here cleans up.
server.on('close', () => process.kill(process.pid, 'SIGKILL'))
server.on('error', () => {})
void send({ kind: 'ready' })

/** Resolves when the message has left this process. */
function send(message: FromChild, body?: Uint8Array): Promise<void> {
  const parts = frameOf(message, body)
  const last = parts.pop() as Buffer
  for (const part of parts) server.write(part)
  return new Promise((resolve) => server.write(last, () => resolve()))
}

async function draw(id: number, request: PageDrawing, deadlineMs: number): Promise<void> {
  const abort = new AbortController()
  current = { id, abort }
  try {
    const describe = (description: Uint8Array) => send({ kind: 'described', id }, description)
    const outcome = await drawPdfPage(request, { deadlineMs, signal: abort.signal }, describe)
    if ('problem' in outcome) {
      void send({ kind: 'refused', id, problem: outcome.problem })
      return
    }
    const { jpeg, width, height, incomplete } = outcome
    void send({ kind: 'drawn', id, width, height, incomplete }, jpeg)
  } catch (error) {
    void send({ kind: 'failed', id, message: String(error).slice(0, MESSAGE_LENGTH_MAX) })
  }
}

async function drawPicture(id: number, bytes: Uint8Array, fit: { width: number; height: number }): Promise<void> {
  // Loaded for the first picture: most books need none.
  const { drawPlain } = await import('../images/image.ts')
  try {
    const { jpeg, width, height } = await drawPlain(bytes, fit)
    void send({ kind: 'drawn', id, width, height, incomplete: false }, jpeg)
  } catch (error) {
    if (error instanceof BookProblem) void send({ kind: 'refused', id, problem: error.problem })
    else void send({ kind: 'failed', id, message: String(error).slice(0, MESSAGE_LENGTH_MAX) })
  }
}
