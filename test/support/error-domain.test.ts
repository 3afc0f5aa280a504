import { spawnSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'

const FILE = `
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
t.test('a timer throws', async () => {
  setTimeout(() => { throw new Error('in a timer') }, 10)
  // The error comes while the test runs.
  await sleep(500)
})
t.test('nobody awaits', async () => {
  void sleep(10).then(() => { throw new Error('of a promise') })
  // As above.
  await sleep(500)
})
t.test('outer', async (t) => {
  await t.test('inner', async () => void setTimeout(() => { throw new Error('after the inner') }, 10))
  // As above.
  await sleep(500)
})
t.test('well', async (t) => t.pass('as ever'))
`

t.setTimeout(60_000)

t.test('an error that nothing catches fails the test that it belongs to, and only that', async (t) => {
  const file = path.join(t.testdir({ 'uncaught.test.ts': FILE }), 'uncaught.test.ts')
  const env = { ...process.env, TEST_FILES: JSON.stringify([file]) }
  const { stdout, status, signal } = spawnSync(process.execPath, [path.join(import.meta.dirname, 'start.ts'), '0'], {
    env,
    encoding: 'utf8',
  })
  t.ok(status !== 0 || signal !== null, 'the process fails')
  for (const [test, error] of [
    ['a timer throws', 'in a timer'],
    ['nobody awaits', 'of a promise'],
    ['outer', 'after the inner'],
  ] as const)
    t.match(stdout, new RegExp(`# Subtest: ${test}\\n[\\s\\S]*    not ok \\d+ - ${error}[\\s\\S]*not ok \\d+ - ${test} #`), test)
  t.match(stdout, /\n {4}ok 1 - inner/)
  t.match(stdout, /\nok \d+ - well/)
})
