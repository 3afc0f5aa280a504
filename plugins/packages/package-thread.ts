import { parentPort, workerData } from 'node:worker_threads'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { AppError } from '#core/foundation/errors.ts'
import type { PackageOutcome } from '#plugins/packages/plugin-package.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'

function outcomeOf(bytes: Uint8Array): PackageOutcome {
  try {
    return { read: readPackage(bufferOf(bytes)) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: { message: error.message, details: error.details } }
  }
}

parentPort?.postMessage(outcomeOf(workerData as Uint8Array))
