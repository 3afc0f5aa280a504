import { buildZip, type ZipPart } from './zip-builder.ts'

/** Entries of a zip by archive path, in this order; `null` leaves out the entry that the recipe would add. */
export type EpubFiles = Record<string, string | Uint8Array | null>

export interface EpubRecipe {
  version?: '2.0' | '3.0'
  /** XML inside <metadata>. */
  metadata?: string
  /** XML inside <manifest> and <spine>, and after the spine (guide). */
  manifest?: string
  spine?: string
  /** The attribute of the spine that names the NCX. */
  toc?: string
  /** In which pages follow each other, as the spine says. */
  direction?: 'ltr' | 'rtl' | undefined
  afterSpine?: string
  /** Text before the root element of the package document, such as a DOCTYPE. */
  prolog?: string
  /** Content by path inside OPS/ (files elsewhere are written `/META-INF/…`), or null to leave out a standard file. */
  files?: EpubFiles
}

/** A valid small EPUB with one chapter, changed by the recipe. */
export function buildEpub(recipe: EpubRecipe = {}): Buffer {
  const {
    version = '3.0',
    metadata = '<dc:title>A small book</dc:title>',
    manifest = '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/>',
    spine = '<itemref idref="c1"/>',
    toc,
    direction,
    afterSpine = '',
    prolog = '',
  } = recipe
  const ncx = toc === undefined ? '' : ` toc="${toc}"`
  const progression = direction === undefined ? '' : ` page-progression-direction="${direction}"`
  const opf =
    `<?xml version="1.0" encoding="UTF-8"?>${prolog}<package xmlns="http://www.idpf.org/2007/opf" version="${version}" unique-identifier="id">` +
    `<metadata xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:opf="http://www.idpf.org/2007/opf"><dc:identifier id="id">x</dc:identifier>${metadata}</metadata>` +
    `<manifest>${manifest}</manifest><spine${ncx}${progression}>${spine}</spine>${afterSpine}</package>`
  const files: EpubFiles = {
    mimetype: 'application/epub+zip',
    'META-INF/container.xml':
      '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>' +
      '<rootfile full-path="OPS/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
    'OPS/package.opf': opf,
    'OPS/c1.xhtml': textPage('Once upon a time.'),
  }
  for (const [name, content] of Object.entries(recipe.files ?? {})) files[name.startsWith('/') ? name.slice(1) : `OPS/${name}`] = content
  return packFiles(files)
}

/** A fixed-layout comic whose pages are XHTML pages with one picture each, named in the order given. */
export function buildComicEpub(pictures: { name: string; bytes: Uint8Array }[]): Buffer {
  return buildEpub({
    metadata: '<dc:title>A comic</dc:title><meta property="rendition:layout">pre-paginated</meta>',
    manifest: pictures
      .map(
        ({ name }, index) =>
          `<item id="p${index}" href="p${index}.xhtml" media-type="application/xhtml+xml"/><item id="i${index}" href="${name}" media-type="image/jpeg"/>`,
      )
      .join(''),
    spine: pictures.map((_, index) => `<itemref idref="p${index}"/>`).join(''),
    files: Object.fromEntries([
      ['c1.xhtml', null],
      ...pictures.map(({ name, bytes }) => [name, bytes]),
      ...pictures.map(({ name }, index) => [`p${index}.xhtml`, index % 2 === 0 ? imagePage(name) : svgPage(name)]),
    ]),
  })
}

export function textPage(text: string): string {
  return page(`<p>${text}</p>`)
}

export function imagePage(src: string): string {
  return page(`<div>\n  <img src="${src}" alt="a picture"/>\n</div>`)
}

export function svgPage(href: string): string {
  return page(
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 60 90"><title>Page</title>` +
      `<image width="60" height="90" xlink:href="${href}"/></svg>`,
  )
}

function page(body: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body>${body}</body></html>`
}

/** A zip in which text is deflated and everything else stored. */
function packFiles(files: EpubFiles): Buffer {
  const parts: ZipPart[] = []
  for (const [name, content] of Object.entries(files)) {
    if (content === null) continue
    const deflate = typeof content === 'string' && name !== 'mimetype'
    parts.push({ name, data: Buffer.from(content), method: deflate ? 8 : 0 })
  }
  return buildZip(parts)
}
