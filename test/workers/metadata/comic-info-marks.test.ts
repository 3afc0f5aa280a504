import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { onlyFull } from '#test/support/lane-size.ts'
import { numberedPages } from '#test/support/pictures.ts'
import { buildZip } from '#test/support/zip-builder.ts'
import { unreadable } from '#workers/metadata/comic-info.ts'

const child = fileURLToPath(new URL('../../support/analyzing-child.ts', import.meta.url))

t.test(
  'a million marks in a ComicInfo delay neither the analysis nor the exit of its process',
  { ...onlyFull, timeout: 240_000 },
  async (t) => {
    const folder = t.testdir()
    const marks = '\u0315\u0300'.repeat(500_000)
    const names = ['Year', 'Month', 'Title', 'Series', 'Summary', 'Writer', 'Genre', 'Tags', 'LanguageISO', 'AgeRating', 'Web']
    for (const [place, fields] of [['Year'], names].entries()) {
      const length = Math.floor(marks.length / fields.length)
      const content = fields.map((name) => `<${name}>1${marks.slice(0, length)}</${name}>`).join('')
      const info = { name: 'ComicInfo.xml', data: Buffer.from(`<ComicInfo>${content}</ComicInfo>`), method: 8 as const }
      const path = join(folder, `${place}.cbz`)
      writeFileSync(path, buildZip([...(await numberedPages(2)), info]))
      // If native code still ran it would keep the process alive, which is killed here.
      const { stdout } = await promisify(execFile)(process.execPath, [child, path], { timeout: 90_000, killSignal: 'SIGKILL' })
      const { pageCount, problems } = JSON.parse(stdout) as { pageCount: number; problems: { type: string }[] }
      t.equal(pageCount, 2)
      t.same([...new Set(problems.map(({ type }) => type))], ['metadata'], 'a remark, not a problem of the file')
    }
  },
)

t.test('one sentence says that a ComicInfo cannot be read', async (t) => {
  for (const reason of ['it is too large', 'it is too large.'])
    t.equal(unreadable('ComicInfo.xml', reason).problem?.message, 'ComicInfo.xml cannot be read: it is too large.')
})
