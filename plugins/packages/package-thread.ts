import { bufferOf } from '#core/foundation/byte-view.ts'
import { serveJobs } from '#core/foundation/thread-jobs.ts'
import { readPackage } from '#plugins/packages/plugin-package.ts'

serveJobs((bytes: Uint8Array) => readPackage(bufferOf(bytes)))
