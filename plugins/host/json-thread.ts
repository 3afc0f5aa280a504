import { parentPort } from 'node:worker_threads'
import { type JsonJob, type JsonOutcome, readJob } from '#plugins/host/json-job.ts'

/** Starts the clock: until now the thread has only loaded its own code. */
parentPort?.postMessage('ready')

parentPort?.on('message', (job: JsonJob) => {
  parentPort?.postMessage(readJob(job) satisfies JsonOutcome)
})
