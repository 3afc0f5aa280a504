import t from 'tap'
import { silentLog } from '#core/foundation/log.ts'
import { workerLog } from '#core/tasks/worker-log.ts'

t.test('what goes wrong is a warning, unless the pool is being stopped', async (t) => {
  const said: string[] = []
  const log = {
    ...silentLog,
    warn: (_: object, text: string) => said.push(`warn ${text}`),
    debug: (_: object, text: string) => said.push(`debug ${text}`),
  }
  let isStopping = false
  const logger = workerLog(log, () => isStopping)
  logger.error('Deactivation failed')
  logger.info('started')
  logger.error('Failed task', { failure: true })
  isStopping = true
  logger.error('Deactivation failed')
  t.same(said, ['warn task queue: Deactivation failed', 'debug task queue: started', 'debug task queue: Deactivation failed'])
})
