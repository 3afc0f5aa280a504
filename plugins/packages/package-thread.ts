import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#core/foundation/errors.ts'
import type { PackageOutcome } from '#plugins/packages/plugin-package.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'

function outcomeOf(bytes: Uint8Array): PackageOutcome {
  try {
    return { read: readPackage(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: { message: error.message, details: error.details } }
  }
}

parentPort?.postMessage(outcomeOf(workerData as Uint8Array))
