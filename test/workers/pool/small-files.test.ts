import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Analysis, type AnalysisRequest, failedAnalysis } from '#core/fields/analysis.ts'
import { Semaphore } from '#core/foundation/semaphore.ts'
import { isSmallFile, SmallFiles } from '#workers/pool/small-files.ts'

const requestOf = (path: string): AnalysisRequest => ({ root: '/shelf', path, verifyPages: false, bytes: 500 })
const analysisOf = (message: string): Analysis => failedAnalysis({ type: 'other', message, fatal: true })
const wordsOf = ({ problems }: Analysis) => problems[0]?.message

/** Small files that record their jobs. */
function openFiles(together: (paths: readonly string[], signal: AbortSignal) => Promise<(string | null)[]>, places = 1) {
  const [jobs, lonely] = [[] as string[][], [] as string[]]
  const files = new SmallFiles({
    places: new Semaphore(places),
    together: async (requests, signal) => {
      const paths = requests.map(({ path }) => path)
      jobs.push(paths)
      return (await together(paths, signal)).map((word) => (word === null ? null : analysisOf(word)))
    },
    alone: async ({ path }, { signal } = {}) => {
      lonely.push(path)
      await sleep(20, undefined, { ...(signal && { signal }) })
      return analysisOf(`${path} alone`)
    },
  })
  return { jobs, lonely, analyze: async (path: string, signal?: AbortSignal) => wordsOf(await files.analyze(requestOf(path), signal)) }
}

const echo = async (paths: readonly string[]) => paths.map((path) => path)

t.test('what waits for a place at the same time shares it', async (t) => {
  const { jobs, lonely, analyze } = openFiles(echo)
  const paths = Array.from({ length: 40 }, (_, index) => `${index}`)
  t.same(await Promise.all(paths.map((path) => analyze(path))), paths)
  t.same(jobs.flat(), paths)
  t.ok(jobs.every((job) => job.length <= 16))
  t.same(lonely, [])
  t.equal(await analyze('late'), 'late alone', 'one that comes by itself does not wait for others')
})

t.test('files that were not analyzed together are analyzed by themselves', async (t) => {
  const { lonely, analyze } = openFiles(async (paths) => paths.map((path) => (path === 'b' ? null : path)))
  t.same(await Promise.all(['a', 'b', 'c'].map((path) => analyze(path))), ['a', 'b alone', 'c'])
  t.same(lonely, ['b'])
})

t.test('a thread that dies says nothing of its files', async (t) => {
  for (const die of [async () => [], async () => Promise.reject(new Error('the thread died'))]) {
    const { lonely, analyze } = openFiles(die)
    t.same(await Promise.all(['a', 'b'].map((path) => analyze(path))), ['a alone', 'b alone'])
    t.same(lonely, ['a', 'b'])
  }
})

t.test('a file that nobody waits for any more does not end the others', async (t) => {
  const begun = Promise.withResolvers<AbortSignal>()
  const go = Promise.withResolvers<void>()
  const { analyze } = openFiles(async (paths, signal) => {
    begun.resolve(signal)
    await go.promise
    return await echo(paths)
  })
  const controller = new AbortController()
  const [canceled, other] = [analyze('a', controller.signal), analyze('b', new AbortController().signal)]
  const job = await begun.promise
  controller.abort(new Error('canceled'))
  await t.rejects(canceled, { message: 'canceled' }, 'at once')
  t.notOk(job.aborted)
  go.resolve()
  t.equal(await other, 'b')
})

t.test('a job that nobody waits for any more ends', async (t) => {
  const begun = Promise.withResolvers<void>()
  const { lonely, analyze } = openFiles(async (_, signal) => {
    begun.resolve()
    await sleep(60_000, undefined, { signal })
    return []
  })
  const controller = new AbortController()
  const all = ['a', 'b'].map((path) => t.rejects(analyze(path, controller.signal), { message: 'stopping' }))
  await begun.promise
  controller.abort(new Error('stopping'))
  await Promise.all(all)
  await t.rejects(analyze('c', controller.signal), { message: 'stopping' })
  t.equal(await analyze('d'), 'd alone', 'and its place is free')
  t.same(lonely, ['d'])
})

t.test('one that stops waiting before it has a place takes none', async (t) => {
  const go = Promise.withResolvers<void>()
  const { jobs, analyze } = openFiles(async (paths) => {
    await go.promise
    return await echo(paths)
  })
  const first = [analyze('a'), analyze('b')]
  await sleep(5)
  const controller = new AbortController()
  const waiting = analyze('c', controller.signal)
  controller.abort(new Error('canceled'))
  await t.rejects(waiting, { message: 'canceled' })
  go.resolve()
  await Promise.all(first)
  t.same(jobs, [['a', 'b']])
})

t.test('only small files whose covers are usually plain pictures are analyzed together', (t) => {
  const isSmall = (path: string, bytes?: number) =>
    isSmallFile({ root: '/', path, verifyPages: false, ...(bytes !== undefined && { bytes }) })
  t.ok(isSmall('/a.cbz', 1000))
  t.ok(isSmall('/a.epub', 1000))
  t.notOk(isSmall('/a.cbz', 1_000_000))
  t.notOk(isSmall('/a.cbz'), 'of unknown size')
  t.notOk(isSmall('/a.pdf', 1000))
  t.end()
})
