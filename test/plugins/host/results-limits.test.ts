import t from 'tap'
import { RESULT_SCHEMAS, readResult } from '#plugins/host/results.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { unboundedIn } from '#test/support/schema-limits.ts'

t.test('every text, list and map in an answer of a plugin has a limit', async (t) => {
  for (const [method, schema] of Object.entries(RESULT_SCHEMAS)) t.same(unboundedIn(schema, method), [], method)
})

t.test('values beyond the limit are cut', async (t) => {
  const answer = readLargest()
  const [first] = answer.recommendations
  t.equal(Object.keys(first?.externalIds ?? {}).length, 100)
  t.equal(first?.externalIds.service0?.length, 200)
  t.equal(first?.title.length, 31, 'marks are bounded')

  const titles = Array.from({ length: 400 }, (_entry, index) => ({ title: `Title ${index}` }))
  const series = readResult('metadata.series.get', JSON.stringify({ externalId: '1', alternateTitles: titles })) as {
    alternateTitles: unknown[]
  }
  t.equal(series.alternateTitles.length, 50)
})

t.test('an answer of the largest size is cut fast', onlyCost, async (t) => {
  const begun = threadCpuMs()
  readLargest()
  t.ok(threadCpuMs() - begun < 5_000)
})

function readLargest() {
  const ids = Object.fromEntries(Array.from({ length: 45_000 }, (_entry, index) => [`service${index}`, 'x'.repeat(300)]))
  return readResult(
    'recommendations.get',
    JSON.stringify({
      recommendations: [
        {
          externalId: '1',
          title: `a${'\u0315\u0300'.repeat(50_000)}`,
          score: 1,
          reason: '',
          externalIds: { ['n'.repeat(101)]: 'x', 'a\nb': 'x', ...ids },
        },
      ],
    }),
  ) as { recommendations: { title: string; externalIds: Record<string, string> }[] }
}

t.test('addresses with another scheme, or too long, are left out alone', async (t) => {
  const given = {
    externalId: '1',
    externalUrl: 'ftp://example.org/1',
    coverUrl: `https://example.org/${'a'.repeat(2_000)}`,
    title: 'Nana',
    externalLinks: [
      { label: 'Bad', url: 'file:///etc/passwd' },
      { label: 'Good', url: 'https://example.org/2' },
      { label: 'Script', url: 'javascript:alert(1)' },
    ],
  }
  t.same(readResult('metadata.series.get', JSON.stringify(given)), {
    ...{ externalId: '1', externalUrl: null, coverUrl: null, title: 'Nana' },
    externalLinks: [{ label: 'Good', url: 'https://example.org/2' }],
  })
  const found = { results: [{ externalId: '1', title: 'Nana', coverUrl: 'data:image/png;base64,AA' }] }
  t.same(readResult('metadata.series.search', JSON.stringify(found)), { results: [{ externalId: '1', title: 'Nana', coverUrl: null }] })
  t.throws(() => readResult('metadata.series.get', JSON.stringify({ ...given, coverUrl: 5 })), { code: 'invalid_result' })
})
