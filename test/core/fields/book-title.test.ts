import t from 'tap'
import { chooseTitle } from '#core/fields/book-title.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'

t.test('a title is chosen by the strategy of the library', async (t) => {
  const title = (strategy: string, embedded: string | undefined) => chooseTitle({ strategy, fileName: 'File name.cbz', embedded })
  t.equal(title('metadata_first', 'Embedded\n title'), 'Embedded title')
  t.equal(title('metadata_first', '  '), 'File name')
  t.equal(title('metadata_first', undefined), 'File name')
  t.equal(title('filename', 'Embedded'), 'File name')
  t.equal(title('smart', 'Embedded'), 'Embedded')
  for (const generic of ['Vol. 3', 'Volume 12', 'Chapter 4.5', '#7', '12', 'Issue #3'])
    t.equal(title('smart', generic), 'File name', generic)
  for (const generic of ['Vol-.Ch 3', 'vol vol 3', '  7  ', 'v1.5', 'No. - _7']) t.equal(title('smart', generic), 'File name', generic)
  for (const own of ['Volx 3', '3 vol', 'Vol', '-', '7.']) t.equal(title('smart', own), own, own)
  t.equal([...title('metadata_first', '📚'.repeat(5000))].length, 500)
})

t.test('a title of dashes is judged in linear time', onlyCost, async (t) => {
  const title = (embedded: string) => chooseTitle({ strategy: 'smart', fileName: 'File name.cbz', embedded })
  const begun = threadCpuMs()
  for (const endless of ['-'.repeat(34), '-'.repeat(30_000), 'vol.'.repeat(10_000), '_#'.repeat(10_000), `${'9'.repeat(30_000)}x`])
    t.ok(title(endless).startsWith(endless.slice(0, 500)))
  t.ok(threadCpuMs() - begun < 5_000, 'it once took longer than the age of the universe')
})
