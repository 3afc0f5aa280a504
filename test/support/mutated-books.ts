import sharp, { type Sharp } from 'sharp'
import { buildComicEpub, buildEpub, textPage } from '#test/support/epub-builder.ts'
import { buildPdf } from '#test/support/pdf-builder.ts'
import { randomOf } from '#test/support/random-manifests.ts'
import { buildRar } from '#test/support/rar-builder.ts'
import { buildZip, type ZipPart } from '#test/support/zip-builder.ts'

/** Sound books that are changed, by the extension of their files. */
interface SoundBook {
  extension: 'cbz' | 'cbr' | 'epub' | 'pdf'
  bytes: Buffer
}

/** Enough for an order, and for a solid archive whose second page depends on the first. */
const PAGE_COUNT = 3

/** Small ones of every kind: what a mutation does to a parser does not depend on the size of the pictures. */
export async function soundBooks(): Promise<SoundBook[]> {
  const pages = await Promise.all(
    Array.from({ length: PAGE_COUNT }, async (_, index) => ({
      name: `${index + 1}.jpg`,
      data: await noise(40 + index, 60)
        .jpeg()
        .toBuffer(),
    })),
  )
  const png = await noise(30, 40).png().toBuffer()
  const comicInfo = Buffer.from(
    '<?xml version="1.0" encoding="utf-8"?><ComicInfo><Title>A title</Title><Series>A series</Series><Number>3</Number><Year>2001</Year><Writer>A, B</Writer><Pages><Page Image="0" Type="FrontCover"/></Pages></ComicInfo>',
  )
  const parts: ZipPart[] = [...pages, { name: '4.png', data: png, method: 8 }, { name: 'ComicInfo.xml', data: comicInfo, method: 8 }]
  const chapter = textPage('<p>Once upon a time.</p>'.repeat(20))
  const novel = buildEpub({
    metadata: '<dc:title>A novel</dc:title><dc:creator>Somebody</dc:creator><meta name="calibre:series" content="S"/>',
    manifest:
      '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/><item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>',
    files: {
      'c1.xhtml': chapter,
      'nav.xhtml':
        '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><body><nav epub:type="toc"><ol><li><a href="c1.xhtml">One</a></li></ol></nav></body></html>',
    },
  })
  const picture = { bytes: pages[0]?.data as Buffer, width: 40, height: 60 }
  return [
    { extension: 'cbz', bytes: buildZip(parts) },
    { extension: 'cbz', bytes: buildZip(parts, { zip64: true, comment: Buffer.from('a comment') }) },
    { extension: 'cbr', bytes: buildRar(pages) },
    { extension: 'cbr', bytes: buildRar(pages, { solid: true }) },
    { extension: 'epub', bytes: novel },
    { extension: 'epub', bytes: buildComicEpub(pages.map(({ name, data }) => ({ name, bytes: data }))) },
    { extension: 'pdf', bytes: buildPdf({ title: 'A document', pages: [{ text: 'One' }, { width: 100, height: 150, jpeg: picture }] }) },
  ]
}

/** A picture that hardly packs, the same every time. */
function noise(width: number, height: number): Sharp {
  const random = randomOf(width)
  const pixels = Buffer.from(Array.from({ length: width * height * 3 }, () => Math.floor(random() * 256)))
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

/** Names that an entry may have, and must not hurt. */
const NAMES = [
  '../../etc/passwd',
  '/etc/passwd',
  'C:\\a.jpg',
  'a\0b.jpg',
  '....jpg',
  'x'.repeat(300),
  '\u202egpj.1',
  '\ud800.jpg',
  '',
  '1.jpg',
]
/** Values at which programs that compute with sizes and offsets fail. */
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff]
/** What stands before the fields of headers and in markup. */
const MARKS = [
  'PK\x01\x02',
  'PK\x03\x04',
  'PK\x05\x06',
  'PK\x06\x06',
  'Rar!',
  '\xff\xc0',
  '\xff\xd8',
  'IHDR',
  'obj',
  'xref',
  '/Length',
  '<',
  '"',
]

type Random = (below: number) => number
type Mutation = (bytes: Buffer, random: Random, others: readonly SoundBook[]) => Buffer

/** The kinds of damage, by name. Each returns other bytes. */
const MUTATIONS: Record<string, Mutation> = {
  'flipped bits': (bytes, random) => {
    for (let count = 1 + random(8); count > 0; count--) {
      const at = random(bytes.length)
      bytes[at] = (bytes[at] as number) ^ (1 << random(8))
    }
    return bytes
  },
  'cut off': (bytes, random) => bytes.subarray(0, random(bytes.length)),
  'block removed': (bytes, random) => {
    const at = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(200))])
  },
  'block of another book': (bytes, random, others) => {
    const other = (others[random(others.length)] as SoundBook).bytes
    const from = random(other.length)
    const at = random(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), other.subarray(from, from + 1 + random(2_000)), bytes.subarray(at)])
  },
  'block repeated': (bytes, random) => {
    const at = random(bytes.length)
    const end = at + 1 + random(500)
    return Buffer.concat([
      bytes.subarray(0, end),
      ...Array.from({ length: 1 + random(50) }, () => bytes.subarray(at, end)),
      bytes.subarray(end),
    ])
  },
  'field of a header': (bytes, random) => {
    const at = placeOf(bytes, MARKS[random(MARKS.length)] as string, random) + random(48)
    const value = EDGES[random(EDGES.length)] as number
    if (at + 4 <= bytes.length) bytes.writeUInt32LE(value, at)
    return bytes
  },
  'entries exchanged': (bytes, random) => {
    const [first, second] = [placeOf(bytes, 'PK\x01\x02', random), placeOf(bytes, 'PK\x01\x02', random)]
    const length = 46
    if (Math.max(first, second) + length > bytes.length) return bytes
    const kept = Buffer.from(bytes.subarray(first, first + length))
    bytes.copyWithin(first, second, second + length)
    kept.copy(bytes, second)
    return bytes
  },
  'numbers of a text': (bytes, random) => {
    const digits = [...bytes.keys()].filter((at) => (bytes[at] as number) >= 0x30 && (bytes[at] as number) <= 0x39)
    for (let count = 1 + random(4); count > 0 && digits.length > 0; count--)
      bytes[digits[random(digits.length)] as number] = 0x30 + random(10)
    return bytes
  },
  'dimensions of a picture': (bytes, random) => {
    const jpeg = random(2) === 0
    const at = placeOf(bytes, jpeg ? '\xff\xc0' : 'IHDR', random) + (jpeg ? 5 : 4)
    if (at + 8 > bytes.length) return bytes
    if (jpeg) bytes.writeUInt32BE(EDGES[random(EDGES.length)] as number, at)
    else bytes.writeUInt32BE(EDGES[random(EDGES.length)] as number, at + 4 * random(2))
    return bytes
  },
  'name of an entry': (bytes, random) => {
    const name = Buffer.from(NAMES[random(NAMES.length)] as string)
    const at = placeOf(bytes, ['1.jpg', '2.jpg', 'META-INF', 'mimetype', 'ComicInfo'][random(5)] as string, random)
    name.copy(bytes, at, 0, Math.min(name.length, bytes.length - at))
    return bytes
  },
}

/** A random one of the places of a text; the first byte if there is none. */
function placeOf(bytes: Buffer, text: string, random: Random): number {
  const places: number[] = []
  const wanted = Buffer.from(text, 'latin1')
  for (let at = bytes.indexOf(wanted); at !== -1 && places.length < 100; at = bytes.indexOf(wanted, at + 1)) places.push(at)
  return places.length === 0 ? 0 : (places[random(places.length)] as number)
}

interface MutatedBook extends SoundBook {
  /** The kinds of damage, in their order. */
  damage: string
}

/** One damaged book, the same for the same seed and index: one to three kinds of damage, one after the other. */
export function mutatedBook(sound: readonly SoundBook[], seed: number, index: number): MutatedBook {
  const next = randomOf((seed + Math.imul(index + 1, 0x9e3779b1)) | 0)
  const random = (below: number) => Math.floor(next() * below)
  const book = sound[random(sound.length)] as SoundBook
  const names = Object.keys(MUTATIONS)
  const chosen = Array.from({ length: 1 + random(3) }, () => names[random(names.length)] as string)
  let bytes = Buffer.from(book.bytes)
  for (const name of chosen) if (bytes.length > 0) bytes = Buffer.from((MUTATIONS[name] as Mutation)(bytes, random, sound))
  return { extension: book.extension, bytes, damage: chosen.join(', ') }
}
