import t from 'tap'
import { FinalFailure } from '#core/tasks/task.ts'
import { attemptOf, backoffSeconds, type Ending, judgeEnding, TRIES_MAX } from '#core/tasks/task-ending.ts'

const failed = (error: unknown, more: object = {}): Ending => ({ error, isCanceled: false, isStopping: false, ...more })

t.test('the number of a try, from 1 after a user retries the task', async (t) => {
  t.equal(attemptOf({ attempts: 1, maxAttempts: TRIES_MAX }), 1)
  t.equal(attemptOf({ attempts: 4, maxAttempts: TRIES_MAX }), 4)
  t.equal(attemptOf({ attempts: 5, maxAttempts: 4 + TRIES_MAX }), 1)
})

t.test('the state of a task after its run has ended', async (t) => {
  t.match(judgeEnding({ result: { pages: 3 } }, 1), { status: 'completed', result: { pages: 3 }, lastError: null })
  t.match(judgeEnding(failed(new Error('bad\0luck\ud800')), 1), {
    status: 'pending',
    lastError: 'bad\\x00luck\\ud800',
    isHandedBack: false,
  })
  t.match(judgeEnding(failed(new Error('no')), TRIES_MAX), { status: 'failed', lastError: 'no', isFinal: false })
  t.match(judgeEnding(failed(new FinalFailure('gone')), 1), { status: 'failed', lastError: 'gone', isFinal: true })
  t.match(judgeEnding(failed(new Error('abort'), { isStopping: true }), 4), { status: 'pending', lastError: null, isHandedBack: true })
  t.match(judgeEnding(failed(new Error('abort'), { isStopping: true, isCanceled: true }), 1), { isHandedBack: false }, 'canceled before')
})

t.test('the pause before a retry equals that of graphile-worker', async (t) => {
  t.same(
    [1, 2, 3].map((attempts) => Number(backoffSeconds(attempts).toFixed(1))),
    [2.7, 7.4, 20.1],
  )
  t.equal(backoffSeconds(30), backoffSeconds(10))
})
