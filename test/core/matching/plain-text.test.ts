import t from 'tap'
import { plainText } from '#core/matching/plain-text.ts'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'

t.test('texts of services become plain text without markup', async (t) => {
  const cases: [given: string, plain: string][] = [
    ['a <b>bold</b> &amp; brave<br>new', 'a bold & brave\nnew'],
    ['<p>one</p><p>two</p>', 'one\ntwo'],
    ['<script>alert(1)</script>text<style>x{}</style>', 'text'],
    ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
    ['&lt;b&gt;bold&lt;/b&gt;', 'bold'],
    ['&lt;script&gt;alert(1)&lt;/script&gt;&#60;img src=x onerror=y&#x3e;text', 'text'],
    ['&amp;lt;b&amp;gt; is how to write it', '&lt;b&gt; is how to write it'],
    ['<scr<b>ipt>alert(1)</scr</b>ipt>', '< script>alert(1)< /script>'],
    ['<img src=x onerror=y ', '< img src=x onerror=y'],
    ['&#x41;&#66;&#0;&#xd800;&bogus;', 'AB&bogus;'],
    ['a\u202eb\u0000c\u001b[31md', 'abc[31md'],
    ['<!-- hidden -->shown', 'shown'],
    ['a\n\n\n\n\nb', 'a\n\nb'],
  ]
  cases.push(
    ['<SCRIPT type="x">1 < 2</Script >a<style>', 'a'],
    ['a<script>b', 'ab'],
    ['a<!-- b', 'a< !-- b'],
    ['one  \ntwo\t\nthree', 'one\ntwo\nthree'],
    ['a<br/>b<BR />c</li>d', 'a\nb\nc\nd'],
    ['<strong>a</strong><brave>b', 'ab'],
  )
  for (const [given, plain] of cases) t.equal(plainText(given), plain, JSON.stringify(given))
})

t.test('converting a text takes linear time', onlyCost, async (t) => {
  for (const unit of [
    ' ',
    ' \t',
    '\n ',
    '<script>',
    '<script',
    '<style>',
    '<!--',
    '</script ',
    '<br ',
    '&',
    '&#',
    '<a ',
    '<br>\n',
    '<!-->',
    '&lt;b',
    '<<b>',
  ]) {
    for (const length of [40_000, 400_000]) {
      const begun = threadCpuMs()
      plainText(`a${unit.repeat(length / unit.length)}b`)
      const took = threadCpuMs() - begun
      t.ok(took < 2_000, `${length} of ${JSON.stringify(unit)}: ${took.toFixed(0)} ms`)
    }
  }
})
