import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t from 'tap'
import { type Analysis, BOOK_ERROR_TYPES, type LibraryFile, type PageOutcome, type Problem } from '#core/fields/analysis.ts'
import { Register } from '#core/foundation/register.ts'
import { sizeOf } from '#test/support/lane-size.ts'
import { mutatedBook, soundBooks } from '#test/support/mutated-books.ts'
import { testSeed } from '#test/support/timed-property.ts'
import { openPool, type ReaderPool } from '#workers/pool/pool.ts'

// Ten thousand: npm run test:fuzz -- --count 10000 --seed N
t.setTimeout(1_900_000)

const asked = Number(process.env['FUZZ_COUNT'] ?? 0)
const count = asked || sizeOf('mutated books', { main: 250, full: 5_000 })
const seed = Number(process.env['FUZZ_SEED'] ?? testSeed) | 0
/** Of a message for people; a file may not write it. */
const MESSAGE_LENGTH_MAX = 2_000
const DEADLINE_MS = 30_000
const AT_A_TIME = 2
/** After the last book, beside that after half of them: within some thousand the heaps of the threads reach the size that they keep. */
const MEMORY_RATIO_MAX = 1.2

/** What is wrong with a problem as users would see it; null if nothing is. */
function faultOf({ type, message }: Problem): string | null {
  if (!BOOK_ERROR_TYPES.includes(type)) return `the type "${type}"`
  if (message.trim() === '') return 'no message'
  if (message.length > MESSAGE_LENGTH_MAX) return `a message of ${message.length} characters`
  // A PDF may declare a picture of any size: its page costs a process for drawing, which has a limit of memory for that.
  if (type === 'pdf_rendering' && message.includes('needs more memory')) return null
  // What the pool says when a thread did not answer.
  return /took longer|more memory|thread|crash/i.test(message) ? `it cost a thread: ${message}` : null
}

/** Reads all that a user could read of an analyzed book; returns the refusals. */
async function readAll(pool: ReaderPool, file: LibraryFile, { pageSource, pages, format }: Analysis, folder: string): Promise<Problem[]> {
  if (pageSource === 'rar_solid') {
    const problem = await pool.extractRar({ ...file, pages, folder })
    return problem ? [problem] : []
  }
  const problems: Problem[] = []
  const note = (outcome: PageOutcome) => {
    if ('problem' in outcome) problems.push(outcome.problem)
    else outcome.release?.()
  }
  for (const [index, page] of pages.entries()) {
    if (pageSource === 'pdf') note(await pool.renderPdfPage({ ...file, index, longestSide: 160 }))
    else if (page.isBlank) continue
    else note(await (pageSource === 'rar' ? pool.readRarPage({ ...file, index, page }) : pool.readZipPage({ ...file, index, page })))
  }
  if (format !== 'epub') return problems
  const outcome = await pool.readPublication(file)
  if ('problem' in outcome) problems.push(outcome.problem)
  return problems
}

t.test(`${count} damaged books end as books or as errors of a known type, and cost no thread (seed ${seed})`, async (t) => {
  const root = await realpath(await mkdtemp(path.join(tmpdir(), 'carrel-mutated-')))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  const pool = openPool({ threads: AT_A_TIME, memoryMbMax: 256, deadlineMs: DEADLINE_MS })
  t.teardown(() => pool.close())
  const sound = await soundBooks()
  const outcomes = new Register<number>()
  const failures: string[] = []
  let next = 0

  const check = async (index: number) => {
    const { extension, bytes, damage } = mutatedBook(sound, seed, index)
    const folder = await mkdtemp(path.join(root, 'book-'))
    const file = { root, path: path.join(folder, `book.${extension}`) }
    await writeFile(file.path, bytes)
    const fail = (what: string) => failures.push(`book ${index} (${extension}: ${damage}): ${what}`)
    try {
      const analysis = await pool.analyze({ ...file, verifyPages: index % 2 === 0 })
      const fatal = analysis.problems.find((problem) => problem.fatal)
      if (!fatal && analysis.pageCount === 0) fail('a book without pages and without an error')
      const problems = [...analysis.problems, ...(fatal ? [] : await readAll(pool, file, analysis, folder))]
      for (const problem of problems) {
        const fault = faultOf(problem)
        if (fault) fail(fault)
      }
      const outcome = fatal?.type ?? (problems.length > 0 ? 'read in part' : 'read whole')
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    } catch (error) {
      fail(`thrown: ${(error as Error).stack}`)
    }
    await rm(folder, { recursive: true, force: true })
  }
  let early = 0
  const work = async () => {
    while (next < count) {
      if (next === Math.ceil(count / 2)) early = process.memoryUsage.rss()
      await check(next++)
    }
  }

  await Promise.all(Array.from({ length: AT_A_TIME }, work))
  t.same(failures, [])
  t.ok(pool.healthy(), 'the pool works')
  const numbers = [...outcomes].sort().map(([outcome, number]) => `${outcome}: ${number}`)
  t.comment(numbers.join(', '))
  if (asked === 0) return
  const after = process.memoryUsage.rss()
  t.ok(after <= MEMORY_RATIO_MAX * early, `${toMb(after)} MB of memory, ${toMb(early)} after half of them`)
})

const toMb = (bytes: number) => Math.round(bytes / 1024 / 1024)
