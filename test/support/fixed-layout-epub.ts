import { buildEpub, type EpubFiles, imagePage } from './epub-builder.ts'

interface FixedLayoutRecipe {
  /** What says that the layout is fixed, in the metadata. */
  metadata?: string
  /** Attributes of each reference of the spine. */
  reference?: string
  direction?: 'ltr' | 'rtl'
  files?: EpubFiles
}

/** A fixed-layout book of XHTML pages: a picture is shown by its page as `i0.jpg`, by its index; a text is the page itself. */
export function buildFixedLayoutEpub(pages: readonly (string | Buffer)[], recipe: FixedLayoutRecipe = {}): Buffer {
  const { metadata = '<meta property="rendition:layout">pre-paginated</meta>', reference = '', direction, files } = recipe
  return buildEpub({
    metadata: `<dc:title>C</dc:title>${metadata}`,
    manifest: pages
      .map(
        (_, index) =>
          `<item id="p${index}" href="p${index}.xhtml" media-type="application/xhtml+xml"/><item id="i${index}" href="i${index}.jpg" media-type="image/jpeg"/>`,
      )
      .join(''),
    spine: pages.map((_, index) => `<itemref idref="p${index}" ${reference}/>`).join(''),
    direction,
    files: {
      'c1.xhtml': null,
      ...Object.fromEntries(
        pages.flatMap((page, index) =>
          typeof page === 'string'
            ? [[`p${index}.xhtml`, page]]
            : [
                [`p${index}.xhtml`, imagePage(`i${index}.jpg`)],
                [`i${index}.jpg`, page],
              ],
        ),
      ),
      ...files,
    },
  })
}

/** A page with this body; `head` is markup beside its title. */
export const xhtmlPage = (body: string, head = '') =>
  `<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>t</title>${head}</head>${body.startsWith('<body') ? body : `<body>${body}</body>`}</html>`
