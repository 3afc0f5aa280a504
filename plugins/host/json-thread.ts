import { serveJobs } from '#core/foundation/thread-jobs.ts'
import { readJob } from '#plugins/host/json-job.ts'

serveJobs(readJob)
