import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '#core/foundation/errors.ts'
import { type IndexOutcome, readSigned, type SignedIndex } from '#plugins/repositories/index-reader.ts'

function outcomeOf(signed: SignedIndex): IndexOutcome {
  try {
    return { read: readSigned(signed) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return { refused: { message: error.message, details: error.details } }
  }
}

parentPort?.postMessage(outcomeOf(workerData as SignedIndex))
