import { parentPort } from 'node:worker_threads'
import { type JsonJob, type JsonOutcome, readJob } from '#plugins/host/json-job.ts'

parentPort?.on('message', (job: JsonJob) => {
  parentPort?.postMessage(readJob(job) satisfies JsonOutcome)
})
