import { createHash } from 'node:crypto'

/** One page; sizes in points. `text` is drawn in Helvetica, `jpeg` fills the page. */
export interface PdfPage {
  width?: number
  height?: number
  cropBox?: [number, number, number, number]
  rotate?: number
  userUnit?: number
  text?: string
  jpeg?: { bytes: Uint8Array; width: number; height: number }
  /** Content stream, instead of `text` and `jpeg`. */
  content?: string
}

/** A page of 130 KB that native code would paint forever, each line in one call: wide, with dashes that are far too small to see. */
export const endlessPage: PdfPage = { content: `[0.01] 0 d 600 w 0 0 m ${'600 790 l 0 0 l '.repeat(4)}S\n`.repeat(1_500) }

/** A PDF in which these pages (from 1) are damaged in the middle of their dictionaries. */
export function damagePages(pages: PdfPage[], damaged: readonly number[]): Buffer {
  let number = 0
  const text = buildPdf({ pages }).toString('latin1')
  const broken = text.replaceAll('/Resources << /Font <<', (sound) => (damaged.includes(++number) ? sound.replace(/<<$/, '))') : sound))
  return Buffer.from(broken, 'latin1')
}

export interface PdfRecipe {
  pages: PdfPage[]
  title?: string
  /** A false /Count of the page tree. */
  count?: number
  /** RC4 with 40 bits (revision 2), which every PDF library supports. With an empty `userPassword` the file opens without a password. */
  encrypt?: { userPassword: string; ownerPassword: string }
}

/** A PDF 1.7 with a correct classic cross-reference table. */
export function buildPdf(recipe: PdfRecipe): Buffer {
  const encryption = recipe.encrypt ? makeEncryption(recipe.encrypt) : null
  const objects: Buffer[] = []
  const add = (make: (number: number) => Buffer): number => {
    objects.push(make(objects.length + 1))
    return objects.length
  }
  const stream = (dictionary: string, content: Uint8Array) => (number: number) => {
    const data = encryption ? encryption.encrypt(number, content) : content
    return Buffer.concat([Buffer.from(`<< ${dictionary} /Length ${data.length} >>\nstream\n`), data, Buffer.from('\nendstream')])
  }

  const treeNumber = 2 + recipe.pages.length * 3 + 1
  const catalog = add(() => Buffer.from(`<< /Type /Catalog /Pages ${treeNumber} 0 R >>`))
  const font = add(() => Buffer.from('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>'))
  const kids = recipe.pages.map((page) => {
    const { width = 612, height = 792, jpeg } = page
    const picture = add(
      jpeg
        ? stream(
            `/Type /XObject /Subtype /Image /Width ${jpeg.width} /Height ${jpeg.height} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode`,
            jpeg.bytes,
          )
        : () => Buffer.from('null'),
    )
    const content = page.content ?? (jpeg ? `q ${width} 0 0 ${height} 0 0 cm /Im Do Q` : `BT /F 24 Tf 40 40 Td (${page.text ?? ''}) Tj ET`)
    const contents = add(stream('', Buffer.from(content)))
    const extras = [
      page.cropBox ? `/CropBox [${page.cropBox.join(' ')}]` : '',
      page.rotate === undefined ? '' : `/Rotate ${page.rotate}`,
      page.userUnit === undefined ? '' : `/UserUnit ${page.userUnit}`,
    ].join(' ')
    return add(() =>
      Buffer.from(
        `<< /Type /Page /Parent ${treeNumber} 0 R /MediaBox [0 0 ${width} ${height}] ${extras} /Contents ${contents} 0 R ` +
          `/Resources << /Font << /F ${font} 0 R >> /XObject << /Im ${picture} 0 R >> >> >>`,
      ),
    )
  })
  add(() => Buffer.from(`<< /Type /Pages /Kids [${kids.map((kid) => `${kid} 0 R`).join(' ')}] /Count ${recipe.count ?? kids.length} >>`))
  const info =
    recipe.title === undefined
      ? null
      : add((number) => {
          const title = Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(recipe.title ?? '', 'utf16le').swap16()])
          const data = encryption ? encryption.encrypt(number, title) : title
          return Buffer.from(`<< /Title <${Buffer.from(data).toString('hex')}> >>`)
        })
  const trailer = [
    `/Root ${catalog} 0 R`,
    info === null ? '' : `/Info ${info} 0 R`,
    encryption ? `/ID [<${FILE_ID}> <${FILE_ID}>] /Encrypt << ${encryption.dictionary} >>` : '',
  ].join(' ')
  return assemble(objects, trailer)
}

function assemble(objects: Buffer[], trailer: string): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')]
  let offset = parts[0]?.length ?? 0
  const offsets = objects.map((object, index) => {
    const at = offset
    const part = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')])
    parts.push(part)
    offset += part.length
    return at
  })
  const rows = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const size = objects.length + 1
  parts.push(
    Buffer.from(`xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} ${trailer} >>\nstartxref\n${offset}\n%%EOF\n`),
  )
  return Buffer.concat(parts)
}

const FILE_ID = '000102030405060708090a0b0c0d0e0f'

/** ISO 32000-1, 7.6.3: algorithms 1 to 4 for revision 2. */
function makeEncryption({ userPassword, ownerPassword }: { userPassword: string; ownerPassword: string }) {
  const permissions = -4
  const ownerKey = md5(padPassword(ownerPassword)).subarray(0, 5)
  const owner = rc4(ownerKey, padPassword(userPassword))
  const permissionBytes = Buffer.alloc(4)
  permissionBytes.writeInt32LE(permissions)
  const key = md5(Buffer.concat([padPassword(userPassword), owner, permissionBytes, Buffer.from(FILE_ID, 'hex')])).subarray(0, 5)
  const user = rc4(key, PADDING)
  return {
    dictionary: `/Filter /Standard /V 1 /R 2 /O <${owner.toString('hex')}> /U <${user.toString('hex')}> /P ${permissions}`,
    encrypt(number: number, data: Uint8Array): Buffer {
      const salt = Buffer.from([number & 0xff, (number >> 8) & 0xff, (number >> 16) & 0xff, 0, 0])
      return rc4(md5(Buffer.concat([key, salt])).subarray(0, 10), data)
    },
  }
}

const PADDING = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex')

function padPassword(password: string): Buffer {
  return Buffer.concat([Buffer.from(password, 'latin1'), PADDING]).subarray(0, 32)
}

function md5(data: Uint8Array): Buffer {
  return createHash('md5').update(data).digest()
}

/** OpenSSL 3 no longer has RC4. */
function rc4(key: Uint8Array, data: Uint8Array): Buffer {
  const state = Uint8Array.from({ length: 256 }, (_, index) => index)
  const swap = (a: number, b: number) => {
    const kept = state[a] ?? 0
    state[a] = state[b] ?? 0
    state[b] = kept
  }
  for (let i = 0, j = 0; i < 256; i++) {
    j = (j + (state[i] ?? 0) + (key[i % key.length] ?? 0)) & 0xff
    swap(i, j)
  }
  let i = 0
  let j = 0
  return Buffer.from(
    data.map((byte) => {
      i = (i + 1) & 0xff
      j = (j + (state[i] ?? 0)) & 0xff
      swap(i, j)
      return byte ^ (state[((state[i] ?? 0) + (state[j] ?? 0)) & 0xff] ?? 0)
    }),
  )
}
