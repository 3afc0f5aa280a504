import t from 'tap'
import { readComicInfo } from '#workers/metadata/comic-info.ts'
import { Remarks, yearOf } from '#workers/metadata/metadata-values.ts'
import { readOpfMetadata } from '#workers/metadata/opf-metadata.ts'
import { readDate } from '#workers/metadata/written-date.ts'
import { parseXml } from '#workers/metadata/xml.ts'

t.test('dates in ISO 8601, and at least the year of others', async (t) => {
  const full = { year: 2023, month: '04', day: '15' }
  for (const [text, date] of [
    ['2023-04-15', full],
    ['20230415', full],
    [' 20230415 ', full],
    ['20230415T101010Z', full],
    ['20230415101010', full],
    ['20230415+09:00', full],
    ['2023-04-15T00:00:00+00:00', full],
    ['2023/04/15', full],
    ['2023.4.15', { year: 2023, month: '4', day: '15' }],
    ['2023-04', { year: 2023, month: '04' }],
    ['202304', { year: 2023, month: '04' }],
    ['2023', { year: 2023 }],
    ['-0044-03-15', { year: -44, month: '03', day: '15' }],
    ['20231345', { year: 2023 }],
    ['2023041', { year: 2023 }],
    ['201920', { year: 2019 }],
    ['15042023', { year: 2023 }],
    ['15.04.2023', { year: 2023 }],
    ['4/15/2023', { year: 2023 }],
    ['April 15th, 2023', { year: 2023 }],
    ['c2023', { year: 2023 }],
    ['2023年4月15日', { year: 2023 }],
    ['２０２３０４１５', full],
    ['2023-2024', { year: 2023 }],
    ['D:20230415', full],
    ["D:20230415101010+02'00'", full],
    ['20230415Z', full],
    ['0000', {}],
    ['0101-01-01', {}],
    ['01010101', {}],
    ['0100-12-31T23:00:00+00:00', {}],
    ['0101-01-01T00:00:00+00:00', {}],
    ['0001-01-01T00:00:00Z', {}],
    ['0000-12-31T14:00:00-10:00', {}],
    ['0001', {}],
    ['00010101', {}],
    ["D:00010101000000+00'00'", {}],
    ['1/1/0001 12:00:00 AM', {}],
    ['01.01.0001 00:00:00', {}],
    ['Mon, 01 Jan 0001 00:00:00 GMT', {}],
    ['0102-01-01', { year: 102, month: '01', day: '01' }],
    ['-0100-12-31', { year: -100, month: '12', day: '31' }],
    ['Mon Jan 2 10:00:00 +0100', undefined],
    ['1681516800', undefined],
    ['soon', undefined],
    ['', undefined],
    ['1'.repeat(100_000), undefined],
  ] as const)
    t.same(readDate(text), date, text.slice(0, 40))
})

t.test('dates of books are read in every usual form', async (t) => {
  const remarks = new Remarks()
  const book = (date: string) => {
    const { root } = parseXml(Buffer.from(`<package><metadata><date>${date}</date></metadata></package>`))
    const { year, month, day } = readOpfMetadata(root, [], remarks).book ?? {}
    return [year, month, day]
  }
  t.same(book('20230415'), [2023, 4, 15])
  t.same(book('20230431'), [2023, 4, undefined], 'a day that does not exist')
  t.same(book('2023-13-45'), [2023, undefined, undefined])
  t.same(book('the spring of 2023'), [2023, undefined, undefined])
  for (const [text, year] of [
    ['2012', 2012],
    ['2012.0', 2012],
    ['2012-05-06', 2012],
    ['20120506', 2012],
    ['2012-2018', 2012],
    ['May 2012', 2012],
    ['-1', undefined],
    ['0', undefined],
    ['99999', undefined],
    ['x', undefined],
    ['-44', -44],
  ] as const)
    t.equal(yearOf(text, 'Year', remarks), year, text)
})

t.test('the years that programs write for no date are none, without a remark', async (t) => {
  const silent = new Remarks()
  for (const text of ['0', '1', '100', '101', '0001', '101.0', '0101-01-01', '0001-01-01T00:00:00Z', '0000-00-00'])
    t.equal(yearOf(text, 'Year', silent), undefined, text)
  t.equal(silent.problem('it'), null)
  const zero = Buffer.from('<ComicInfo><Title>T</Title><Year>1</Year><Month>1</Month><Day>1</Day></ComicInfo>')
  t.same(readComicInfo('ComicInfo.xml', zero).embedded, { title: 'T' })
})
