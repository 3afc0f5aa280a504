import t from 'tap'
import { AppError } from '#core/foundation/errors.ts'
import { checkPatchRules } from '#core/metadata/patch-rules.ts'

const nest = (depth: number): unknown => (depth === 0 ? 1 : { a: nest(depth - 1) })

t.test('violations that schemas cannot express are refused with the path of the member', async (t) => {
  const cases: [Record<string, unknown>, string][] = [
    [{ isbns: '9780930289232, 123' }, '/isbns'],
    [{ languageIso: 'english please' }, '/languageIso'],
    [{ language: 'e' }, '/language'],
    [{ customMetadata: nest(17) }, '/customMetadata'],
    [{ customMetadata: { a: 'x'.repeat(64 * 1024) } }, '/customMetadata'],
    [{ month: 4, day: 31 }, '/day'],
    [{ year: 2023, month: 2, day: 29 }, '/day'],
    [{ month: 2, day: 30 }, '/day'],
    [{ title: ' \t' }, '/title'],
    [
      {
        authors: [
          { name: 'A', role: 'writer' },
          { name: '\u00a0', role: 'writer' },
        ],
      },
      '/authors/1/name',
    ],
    [{ awards: [{ name: ' ', won: true }] }, '/awards/0/name'],
    [{ subjects: ['a', ' '] }, '/subjects/1'],
    [{ writer: Array.from({ length: 501 }, (_, index) => index).join(',') }, '/writer'],
    [{ coverArtist: `A, ${'b'.repeat(501)}` }, '/coverArtist'],
  ]
  for (const [patch, path] of cases) {
    for (const at of ['', '/items/3']) {
      const error = t.throws(() => checkPatchRules(patch, at), AppError) as unknown as AppError
      t.match(error, { code: 'invalid_value', details: [{ path: `${at}${path}` }] }, path)
    }
  }
})

t.test('valid patches pass unchanged, with normalized ISBNs', async (t) => {
  const cases: Record<string, unknown>[] = [
    {},
    { isbns: null, languageIso: null, customMetadata: null, authors: null, writer: null, subjects: null, title: null },
    { languageIso: 'zh-Hant-TW' },
    { language: 'en-u-ca-buddhist' },
    { customMetadata: nest(16) },
    { month: 2, day: 29 },
    { year: 2024, month: 2, day: 29 },
    { day: 31 },
    { writer: 'A, , B,', authors: [{ name: 'King, Jr.', role: 'writer' }] },
  ]
  for (const patch of cases) t.same(checkPatchRules(patch), patch)
  const patch = { isbns: '978-0-930289-23-2, 0 930289 23 4' }
  t.same(checkPatchRules(patch), { isbns: '9780930289232,0930289234' })
  t.equal(patch.isbns, '978-0-930289-23-2, 0 930289 23 4', 'the patch itself stays')
})
