import { serveJobs } from '#core/foundation/thread-jobs.ts'
import { readSigned } from '#plugins/repositories/index-reader.ts'

serveJobs(readSigned)
