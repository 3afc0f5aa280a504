import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { consentRecordOf } from '#plugins/consent/record.ts'
import { describeRecord } from '#plugins/consent/record-lines.ts'
import type { Manifest } from '#plugins/packages/manifest.ts'
import { readManifest } from '#plugins/packages/read-manifest.ts'
import { forgedIn, rowsOf } from '#test/support/forged-words.ts'
import { manifestOf } from '#test/support/plugins.ts'

t.setTimeout(240_000)

const PLANE = 0x10000
/** Of each block of 256 characters one, of the planes with letters of living languages three. */
const characters = Array.from({ length: 17 }, (_, plane) =>
  Array.from({ length: PLANE / 256 }, (_, block) =>
    (plane < 2 ? [0, 0x61, 0xff] : [(block * 37) % 256]).map((place) => plane * PLANE + block * 256 + place),
  ),
).map((blocks) => blocks.map((codes) => codes.map((code) => String.fromCodePoint(code))))
/** Letters of mathematics, which look like ordinary ones. */
const LOOKALIKE = /[\u{1d400}-\u{1d6a5}]/u

const read = (change: Record<string, unknown>): Manifest | null => {
  try {
    return readManifest(Buffer.from(JSON.stringify(manifestOf(change))))
  } catch (error) {
    if (error instanceof AppError && /at \/(name|author\/name|permissions\/network\/0\/reason)|NUL or half a character/.test(error.message))
      return null
    throw error
  }
}

t.test('a name with characters of any plane is refused with its place, or shown quoted, below 80 columns', (t) => {
  let shown = 0
  for (const [plane, blocks] of characters.entries()) {
    for (const character of blocks.flat()) {
      const name = `A${character}b`
      const manifest = read({ name })
      const code = character.codePointAt(0)?.toString(16)
      if (manifest === null) continue
      shown += 1
      const lines = describeRecord(consentRecordOf({ manifest, signedBy: [], repository: null }))
      const problems = [
        ...forgedIn(lines.join('\n')),
        ...lines.filter((line) => rowsOf(line).length > 1),
        ...(lines.includes(`  > the author names it: "${name}"`) ? [] : ['it is not shown']),
        ...(LOOKALIKE.test(character) && !lines.some((line) => line.includes('Note: the name')) ? ['no remark'] : []),
      ]
      if (problems.length > 0) t.fail(`${code}: ${problems.join(', ')}`)
    }
    if (plane >= 14)
      t.notOk(
        blocks.flat().some((character) => read({ name: `A${character}b` }) !== null),
        `plane ${plane} shows nothing`,
      )
  }
  t.ok(shown > 300, `${shown} were shown`)
  t.end()
})

t.test('the same for reasons and authors', (t) => {
  for (const character of characters.flatMap((blocks) => blocks.filter((_, block) => block % 7 === 0).flat())) {
    const reason = `Finds${character} books`
    const manifest = read({ author: { name: reason }, permissions: { network: [{ host: 'api.example.org', reason }] } })
    if (manifest === null) continue
    const output = describeRecord(consentRecordOf({ manifest, signedBy: [], repository: null })).join('\n')
    if (forgedIn(output).length > 0 || !output.includes(`  > the author says: "${reason}"`))
      t.fail(`U+${character.codePointAt(0)?.toString(16)}`)
  }
  t.pass('all were refused or shown')
  t.end()
})
