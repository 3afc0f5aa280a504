import { parentPort } from 'node:worker_threads'
import { type JsonJob, type JsonOutcome, readJob } from '#plugins/host/json-job.ts'

/** Time counts from here on: until now it has only read its own code. */
parentPort?.postMessage('ready')

parentPort?.on('message', (job: JsonJob) => {
  parentPort?.postMessage(readJob(job) satisfies JsonOutcome)
})
