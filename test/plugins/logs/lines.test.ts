import fc from 'fast-check'
import t from 'tap'
import { isAtLeast, Lines, LOG_LEVELS, missedLine } from '#plugins/logs/lines.ts'
import { assertInTime } from '#test/support/timed-property.ts'

const from = { callId: '7f8f3a52-2a0e-4d0b-9b36-0f6f4a1c9d55', method: 'metadata.series.search', userId: null }
const line = (message: unknown, more: object = {}) => ({ level: 'info', message, data: undefined, ...from, ...more })

t.test('a line has the message of the plugin, sanitized', async (t) => {
  const lines = new Lines(() => 1_000)
  const cases: [given: ReturnType<typeof line>, message: string, data: string | null, level: string][] = [
    [line('plain'), 'plain', null, 'info'],
    [line('\u001b[2Jgone\nfake line', { level: 'error' }), '\\x1b[2Jgone\\nfake line', null, 'error'],
    [line({ not: 'a text' }, { level: 'fatal' }), '{"not":"a text"}', null, 'debug'],
    [line(undefined, { level: { toString: () => 'error' } }), 'null', null, 'debug'],
    [line('with', { data: { page: 2, password: 'hunter2' } }), 'with', '{"page":2,"password":"[hidden]"}', 'info'],
    [line('with', { data: '{"page":2,"password":"hunter2"}' }), 'with', '{"page":2,"password":"[hidden]"}', 'info'],
    [line('with', { data: '{"page":2,"password":"hunt' }), 'with', '"{\\"page\\":2,\\"password\\":\\"[hidden]"', 'info'],
    [line('token=s3cr3t-value', { data: ['token=s3cr3t-value'] }), 'token=[hidden]', '["token=[hidden]"]', 'info'],
    [line('x'.repeat(100_000), { data: { more: 1 } }), `${'x'.repeat(2_045)}…`, null, 'info'],
    [line('x', { data: 'y'.repeat(100_000) }), 'x', `"${'y'.repeat(2_000)}…"`, 'info'],
    [line('\u0000'.repeat(1_000)), `${'\\x00'.repeat(511)}\\…`, null, 'info'],
  ]
  for (const [given, message, data, level] of cases) {
    lines.add(given)
    const added = lines.list({ limit: 1 }).lines[0]!
    t.match(added, { message, data, level, callId: from.callId, method: from.method }, String(message).slice(0, 40))
    t.ok(Buffer.byteLength(added.message) + Buffer.byteLength(added.data ?? '') <= 2_048)
  }
})

t.test('pages of lines say how many lines were dropped in between', async (t) => {
  assertInTime(
    fc.property(
      fc.array(fc.constantFrom('add', 'drop'), { maxLength: 60 }),
      fc.integer({ min: -5, max: 70 }),
      fc.integer({ min: 1, max: 80 }),
      (steps, offset, limit) => {
        let clock = 5_000
        const lines = new Lines(() => clock)
        const firstId = 5_000_000
        let kept: number[] = []
        let nextId = firstId
        for (const step of steps) {
          clock += 10
          if (step === 'add') {
            lines.add(line(`${nextId}`))
            kept.push(nextId++)
          } else {
            lines.dropOldest()
            kept = kept.slice(1)
          }
        }
        const after = firstId + offset
        const known = after < nextId
        const page = lines.list({ after, limit })
        const wanted = known ? kept.filter((id) => id > after) : kept
        const gone = Math.max(0, (kept[0] ?? nextId) - Math.max(after + 1, firstId))
        const last = lines.list({ limit })
        return (
          page.lines.map(({ id }) => id).join() === wanted.slice(0, limit).join() &&
          page.lines.every(({ id, message }) => message === `${id}`) &&
          page.missed === (known ? gone : 0) &&
          page.lastId === nextId - 1 &&
          last.lines.map(({ id }) => id).join() === kept.slice(-limit).join() &&
          lines.count() === kept.length
        )
      },
    ),
    { numRuns: 500 },
  )
  const lines = new Lines(() => 0)
  for (const level of LOG_LEVELS) lines.add(line(level, { level }))
  t.same(
    lines.list({ limit: 10, level: 'warn' }).lines.map(({ message }) => message),
    ['warn', 'error'],
  )
  t.same([isAtLeast('warn', 'error'), isAtLeast('error', 'warn')], [false, true])
})

t.test('ids keep increasing across restarts', async (t) => {
  const before = new Lines(() => 1_000)
  for (let at = 0; at < 500; at += 1) before.add(line('x'))
  const after = new Lines(() => 1_001)
  after.add(line('y'))
  t.ok(after.list({ limit: 1 }).lines[0]!.id > before.list({ limit: 1 }).lastId)
  t.match(after.list({ after: before.list({ limit: 1 }).lastId, limit: 9 }), { lines: [{ message: 'y' }], missed: 0 })
})

t.test('a flood is cut, with a line that says so', async (t) => {
  let clock = 0
  const lines = new Lines(() => clock)
  let kept = 0
  for (let at = 0; at < 50_000; at += 1) kept += lines.add(line(`line ${at}`))
  t.equal(lines.count(), 1_000, 'a burst')
  t.equal(lines.leftOut(), 49_000)
  clock += 1_000
  for (let at = 0; at < 1_000; at += 1) kept += lines.add(line('later'))
  t.equal(lines.count(), 1_101, 'and a hundred a second')
  t.match(lines.list({ limit: 200 }).lines[99], {
    level: 'warn',
    callId: null,
    message: '49000 lines were dropped: the plugin wrote them too fast.',
  })
  for (let second = 0; second < 60; second += 1) {
    clock += 1_000
    for (let at = 0; at < 200; at += 1) kept += lines.add(line('for long'))
  }
  t.equal(lines.count(), 2_000)
  for (let at = 0; at < 2_000; at += 1) kept -= lines.dropOldest()
  t.equal(kept, 0, 'adding and removing lines change the length by the same amount')
  t.equal(lines.dropOldest(), 0)
  clock = -1_000_000
  t.equal(lines.add(line('the clock was set back')) < 1_000, true)
})

t.test('who waits for the next line gets it', async (t) => {
  const lines = new Lines(() => 0)
  const left = new AbortController()
  const [next, other] = [lines.changed(new AbortController().signal), lines.changed(left.signal)]
  left.abort()
  await other
  lines.add(line('x'))
  await next
  await lines.changed(left.signal)
  const end = lines.changed(new AbortController().signal)
  lines.close()
  await end
  t.same([lines.isClosed(), lines.add(line('too late')), lines.count()], [true, 0, 1])
  t.match(missedLine(3, 10, 0), { id: 9, level: 'warn', message: /^3 lines/, callId: null })
})
