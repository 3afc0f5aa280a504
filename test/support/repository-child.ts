/** A separate process that refreshes a repository from a server of a test; the test kills it in the middle. */
import http from 'node:http'
import { openDatabase } from '#core/database/database.ts'
import { silentLog } from '#core/foundation/log.ts'
import type { EgressNetwork } from '#plugins/network/egress.ts'
import { HttpsEgress } from '#plugins/network/https-egress.ts'
import { downloadThrough } from '#plugins/repositories/download.ts'
import { Repositories } from '#plugins/repositories/repositories.ts'

const [url, port, id] = process.argv.slice(2) as [string, string, string]
const database = openDatabase({ url, poolMax: 3, log: silentLog })
const way: EgressNetwork = {
  resolve: async () => ['127.0.0.1'],
  permits: () => true,
  request: http.request as unknown as EgressNetwork['request'],
  port: Number(port),
}
const repositories = new Repositories({
  ...{ database, log: silentLog, serverVersion: '1.2.3', onRevoked: () => {} },
  download: downloadThrough(new HttpsEgress(way), { userAgent: 'Carrel' }),
  install: () => Promise.reject(new Error('Nothing is installed here.')),
})
await repositories.refresh(id)
