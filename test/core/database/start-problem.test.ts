import t from 'tap'
import { describeLastWords } from '#core/database/start-problem.ts'

t.test('what is full has its name', async (t) => {
  const said = (line: string) => describeLastWords('/srv/data/postgres', [line], 'ended')
  t.match(
    said('FATAL:  could not write lock file "postmaster.pid": No space left on device'),
    /^The disk of \/srv\/data\/postgres is full\./,
  )
  const memory = said('FATAL:  could not resize shared memory segment "/PostgreSQL.2463517586" to 1048576 bytes: No space left on device')
  t.match(memory, /\/dev\/shm.*--shm-size=256m/)
  t.notMatch(memory, /disk/)
})
