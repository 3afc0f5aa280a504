import t from 'tap'
import { errorAnswer } from '#api/http/errors.ts'
import { AppError } from '#core/foundation/errors.ts'
import { openTestDatabase } from '#test/support/database.ts'
import { addBook, addCaller, addLibrary, addSeries } from '#test/support/library-rows.ts'

t.test('two changes that meet are no fault of the server', async (t) => {
  const { database } = await openTestDatabase(t)
  const { userId } = await addCaller(database)
  const library_id = await addLibrary(database)
  const series_id = await addSeries(database, { library_id, title: 'Run' })
  const ids = [
    await addBook(database, { library_id, series_id, title: 'A' }),
    await addBook(database, { library_id, series_id, title: 'B' }),
  ]
  // Each has one of the two before it asks for the other.
  const holding = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const locks = await Promise.allSettled(
    [ids, ids.toReversed()].map((order, at) =>
      database.transaction(async (trx) => {
        for (const id of order) {
          await trx('books').where({ id }).update({ number: 1 })
          holding[at]?.resolve()
          await Promise.all(holding.map(({ promise }) => promise))
        }
      }),
    ),
  )
  const lost = locks.find(({ status }) => status === 'rejected') as PromiseRejectedResult
  t.match(errorAnswer(lost.reason, 'r1'), { status: 503, body: { error: 'unavailable', requestId: 'r1' }, retryAfterSeconds: 1 })

  const gone = await database('read_progress')
    .insert({ user_id: userId, book_id: '00000000-0000-4000-8000-000000000000', current_page: 1 })
    .catch((error) => error)
  t.match(errorAnswer(gone, 'r2'), { status: 409, body: { error: 'conflict' } })
})

t.test('what nobody foresaw tells nothing', async (t) => {
  t.same(errorAnswer(new Error('secret'), 'r3').status, 500)
  t.notMatch(JSON.stringify(errorAnswer(new Error('secret'), 'r3')), /secret/)
  t.match(errorAnswer(new AppError('not_found', 'There is no book.'), 'r4'), { status: 404, body: { message: 'There is no book.' } })
})

t.test('a fault below is told as one that passes, whoever names it', async (t) => {
  const codes = ['57P01', '57P02', '57P03', '53100', '53200', '53300', '08006', '58030', '25006', '57014', '55P03', '40001']
  for (const code of [...codes, 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ETIMEDOUT']) {
    const answer = errorAnswer(Object.assign(new Error('secret'), { code, name: 'error' }), 'r5')
    t.match(answer, { status: 503, body: { error: 'unavailable' }, retryAfterSeconds: Number }, code)
    t.notMatch(JSON.stringify(answer), /secret/, code)
  }
  // The socket of a database that has ended is gone.
  for (const [code, syscall] of [
    ['ENOENT', 'connect'],
    ['ENOTFOUND', 'getaddrinfo'],
  ] as const)
    t.match(
      errorAnswer(Object.assign(new Error('secret'), { code, syscall }), 'r8'),
      { status: 503, body: { error: 'unavailable' } },
      syscall,
    )
  for (const message of ['Connection terminated unexpectedly', 'select 1 - Connection terminated', 'timeout expired']) {
    t.match(errorAnswer(new Error(message), 'r6'), { status: 503 }, message)
  }
  const memory = Object.assign(new Error('SELECT 1 - could not resize shared memory segment "/PostgreSQL.7"'), { code: '53100' })
  t.match(errorAnswer(memory, 'r9').body.message, /out of connections, memory/, 'no disk is full')
  for (const code of ['42601', '23505', '22001', 'XX000', 'ENOENT', '', 53100, undefined]) {
    t.match(errorAnswer(Object.assign(new Error('secret'), { code }), 'r7'), { status: 500, body: { error: 'internal' } }, String(code))
  }
})
