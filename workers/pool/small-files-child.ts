/** The process that analyzes small files beside the threads of the server. */

import type { AnalysisRequest } from '#core/fields/analysis.ts'
import { bufferOf } from '#core/foundation/byte-view.ts'
import { analyzeTogether } from '../formats/analyze.ts'
import { REQUESTS_BYTES_MAX } from '../limits.ts'
import { connectToServer } from './server-connection.ts'
import { writeAnalyses } from './write-analyses.ts'

const send = connectToServer((_header, body) => {
  const requests = JSON.parse(bufferOf(body).toString()) as AnalysisRequest[]
  void analyzeTogether(requests).then((analyses) => send({ kind: 'analyzed' }, writeAnalyses(analyses)))
}, REQUESTS_BYTES_MAX)
