import t from 'tap'
import { threadCpuMs } from '#test/support/cpu-time.ts'
import { onlyCost } from '#test/support/lane-size.ts'
import { readComicInfo } from '#workers/metadata/comic-info.ts'
import { languageOf, positionOf, Remarks, textOfHtml } from '#workers/metadata/metadata-values.ts'
import { readOpfMetadata } from '#workers/metadata/opf-metadata.ts'
import { readSeriesJson } from '#workers/metadata/series-json.ts'
import { parseXml } from '#workers/metadata/xml.ts'

const comic = (content: string) => readComicInfo('ComicInfo.xml', Buffer.from(`<ComicInfo>${content}</ComicInfo>`))
const opf = (content: string, after = '') => {
  const remarks = new Remarks()
  const { root, unknownEntities } = parseXml(Buffer.from(`<package><metadata>${content}</metadata>${after}</package>`))
  return { ...readOpfMetadata(root, unknownEntities, remarks), problem: remarks.problem('it') }
}

const lengthOf = (list: unknown) => (Array.isArray(list) ? list.length : undefined)

t.test('huge metadata costs little', onlyCost, async (t) => {
  const soon = (label: string, work: () => void) => {
    const started = threadCpuMs()
    work()
    t.ok(threadCpuMs() - started < 4_000, `${label} took ${(threadCpuMs() - started).toFixed(0)} ms`)
  }
  soon('10,000 authors', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `Name ${index}`)
    t.equal(lengthOf(comic(`<Writer>${names.join(',')}</Writer>`).embedded.book?.authors), 500)
    t.equal(lengthOf(opf(names.map((name) => `<creator>${name}</creator>`).join('')).book?.authors), 500)
  })
  soon('a repeated element', () => {
    t.equal(lengthOf(comic('<Writer>A</Writer>'.repeat(100_000)).embedded.book?.authors), 1)
  })
  soon('refinements', () => {
    opf(`<creator id="a">A</creator>${'<meta refines="#a" property="role">aut</meta>'.repeat(60_000)}`)
  })
  soon('many creators who share many roles', () => {
    const people = Array.from({ length: 20_000 }, (_, index) => `<creator id="a">Name ${index}</creator>`).join('')
    opf(`${people}${'<meta refines="#a" property="role">aut</meta>'.repeat(20_000)}`)
  })
  soon('a summary of a megabyte', () => {
    const { embedded, problem } = comic(`<Summary>${'word '.repeat(200_000)}</Summary>`)
    t.ok(String(embedded.book?.summary).length <= 40_000)
    t.match(problem, { type: 'metadata', message: /was cut/, fatal: false })
  })
  for (const text of ['<p'.repeat(400_000), '<script>'.repeat(200_000), ' \n'.repeat(500_000), '<p>'.repeat(300_000)])
    soon(text.slice(0, 8), () => textOfHtml(text))
  soon('commas', () => comic(`<Genre>${','.repeat(3_000_000)}</Genre>`))
})

t.test('hostile and huge metadata is cut to the limits', async (t) => {
  const names = Array.from({ length: 501 }, (_, index) => `Name ${index}`)
  t.equal(lengthOf(comic(`<Writer>${names.join(',')}</Writer>`).embedded.book?.authors), 500)
  const { embedded, problem } = comic(`<Summary>${'word '.repeat(9_000)}</Summary>`)
  t.ok(String(embedded.book?.summary).length <= 40_000)
  t.match(problem, { type: 'metadata', message: /was cut/, fatal: false })
  t.same(readSeriesJson(Buffer.from('{"metadata":{"name":"\\u0000\\ud800A","year":"x","total_issues":-5,"comicid":"../x"}}')).series, {
    fields: { title: '\ufffdA' },
  })
  t.same(readSeriesJson(Buffer.from('null')).problem?.type, 'metadata')
})

t.test('values as people write them', async (t) => {
  const remarks = new Remarks()
  for (const [text, number] of [
    ['7', 7],
    ['#7', 7],
    ['1.5', 1.5],
    ['1,5', 1.5],
    ['½', 0.5],
    ['3½', 3.5],
    ['-1', -1],
    ['１２', 12],
    ['1AU', 1],
    ['3.AU', 3],
    ['10/11', 10],
    ['', undefined],
  ] as const)
    t.equal(positionOf(text, 'Number', remarks), number, text)
  t.equal(remarks.problem('x'), null)
  for (const bad of ['Annual 2', '1e3', '999999999999', 'NaN', 'Infinity', '--1'])
    t.equal(positionOf(bad, 'Number', remarks), undefined, bad)
  t.equal(lengthOf(remarks.problem('x')?.details?.remarks), 6)
  t.equal(textOfHtml('<div><p>One &amp; <b>two</b></p><p>three<br/>four</p><script>x()</script></div>'), 'One & two\nthree\nfour')
  t.equal(textOfHtml('a < b and c > d'), 'a < b and c > d')
})

t.test('codes of countries are read as their language, with a remark', async (t) => {
  const remarks = new Remarks()
  for (const [code, language] of Object.entries({
    jp: 'ja',
    JP: 'ja',
    cn: 'zh',
    kr: 'ko',
    tw: 'zh',
    us: 'en',
    gb: 'en',
    ua: 'uk',
    cz: 'cs',
    gr: 'el',
    'jp-JP': 'ja',
    USA: 'en',
    usa: 'en',
    GBR: 'en',
    CHN: 'zh',
    chn: 'zh',
    BRA: 'pt',
    TWN: 'zh',
    ESP: 'es',
    MEX: 'es',
    DNK: 'da',
    VNM: 'vi',
    'cn-Hans': 'zh-Hans',
    cn_hant: 'zh-Hant',
    'tw-Hant-TW': 'zh-Hant',
    'CHN-Hans': 'zh-Hans',
    'jp-Jpan': 'ja-Jpan',
  }))
    t.equal(languageOf(code, 'LanguageISO', remarks), language, code)
  t.match(remarks.problem('x')?.message, /LanguageISO "jp" is a country; its language, ja, is used/)
  const silent = new Remarks()
  for (const [code, language] of Object.entries({
    ja: 'ja',
    zh: 'zh',
    br: 'br',
    se: 'se',
    uk: 'uk',
    be: 'be',
    'zh-TW': 'zh-TW',
    pt_BR: 'pt-BR',
    jpn: 'ja',
    in: 'id',
    DEU: 'de',
    FRA: 'fr',
    IND: 'id',
    grc: 'grc',
    'zh-Hans': 'zh-Hans',
    'sr-Latn-RS': 'sr-Latn-RS',
    'yue-Hant-HK': 'yue-Hant-HK',
  }))
    t.equal(languageOf(code, 'LanguageISO', silent), language, code)
  t.equal(silent.problem('x'), null)
})

t.test('codes of countries in three letters have a language, whichever letters they share with the code in two', async (t) => {
  const isLanguage = (code: string) => new Intl.DisplayNames('en', { type: 'language', fallback: 'none' }).of(code) !== undefined
  const codes = 'afg are aus can chl cod com dom fsm gin hkg irl lka mdg mne mys npl pak prk pse qat sen svk tun twn ury zwe'
  for (const code of codes.split(' ')) {
    const remarks = new Remarks()
    t.ok(isLanguage(languageOf(code, 'LanguageISO', remarks) ?? 'xx'), code)
    t.match(remarks.problem('x')?.message, /is a country/, code)
  }
})

t.test('a code that is no known language has a remark; one of three letters may be a rare language', async (t) => {
  for (const [code, language] of [
    ['sp', undefined],
    ['xx', undefined],
    ['sp-ES', undefined],
    ['aoz', 'aoz'],
    ['AOZ-Latn', 'aoz-Latn'],
    ['English please', undefined],
    ['e', undefined],
  ] as const) {
    const remarks = new Remarks()
    t.equal(languageOf(code, 'LanguageISO', remarks), language, code)
    t.match(remarks.problem('x')?.message, /is not a (known )?language/, code)
  }
})

t.test('an entity of a DOCTYPE is never expanded or shown', async (t) => {
  const bytes = Buffer.from(
    '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><ComicInfo><Title>[&e;]</Title><Series>S</Series></ComicInfo>',
  )
  const { embedded, problem } = readComicInfo('ComicInfo.xml', bytes)
  t.same(embedded, { series: { fields: { title: 'S' } } })
  t.match(problem?.message, /Title.*entity/)
})

t.test('package documents: roles, dates, identifiers, calibre', async (t) => {
  const found = opf(
    '<creator id="a">Alan Moore</creator><meta refines="#a" property="role" scheme="marc:relators">aut</meta>' +
      '<meta refines="#a" property="role">ill</meta><meta refines="#a" property="file-as">Moore, Alan</meta>' +
      '<contributor role="bkp">calibre</contributor><contributor role="trl">Tra Lator</contributor>' +
      '<identifier>urn:isbn:978-0-306-40615-7</identifier><identifier scheme="ISBN">0306406153</identifier>' +
      '<identifier scheme="GOODREADS">71348</identifier><identifier>urn:uuid:1</identifier>' +
      '<date event="original-publication">1865</date><date event="publication">2011-02-30</date><language>pt_BR</language>' +
      '<meta name="calibre:series" content="S"/><meta name="calibre:series_index" content="2.5"/>',
    '<spine page-progression-direction="RTL"/>',
  )
  t.match(found, {
    book: {
      authors: [
        { name: 'Alan Moore', role: 'author', sortName: 'Moore, Alan' },
        { name: 'Alan Moore', role: 'illustrator' },
        { name: 'Tra Lator', role: 'translator' },
      ],
      isbns: '9780306406157',
      year: 2011,
      month: 2,
      originalYear: 1865,
      languageIso: 'pt-BR',
      number: 2.5,
      seriesPosition: 2.5,
    },
    externalIds: { goodreads: '71348' },
    series: { fields: { title: 'S', readingDirection: 'rtl' } },
  })
  t.equal(found.book?.day, undefined)
  t.match(found.problem?.message, /0306406153.*check digit/)
  t.match(found.problem?.message, /Day "30"/)
  t.same(opf('<date>0000-00-00</date><date>0101-01-01T00:00:00+00:00</date>').book, undefined, 'no date at all')
  t.match(opf('<date>soon</date>').problem?.message, /is not a date/)
})
