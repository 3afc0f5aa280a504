import { buildEpub } from '#test/support/epub-builder.ts'

const XHTML = 'xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xmlns:xlink="http://www.w3.org/1999/xlink"'
const RUN = "try{top.ran=(top.ran||'')+' X';parent.ran='X';window.ran='X'}catch(e){}"

const page = (body: string, head = '', attributes = ''): string =>
  `<html ${XHTML}><head><title>t</title>${head}</head><body ${attributes}>${body}</body></html>`

/** Everything in a chapter that could run or reach another host. @param stranger address of the other host */
function hostileChapter(stranger: string): string {
  const at = (name: string) => `${stranger}/${name}`
  const drawing =
    `<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40" onload="${RUN}"><script>${RUN}</script>` +
    `<image href="${at('svg-image')}" width="9" height="9"/><use xlink:href="${at('svg-use')}#x"/><foreignObject><iframe ${XHTML} src="${at('svg-frame')}"></iframe></foreignObject>` +
    `<a xlink:href="javascript:${RUN}"><text y="20">svg link</text></a><a xlink:href="uncleaned.xhtml"><text y="30">drawn link</text></a><animate attributeName="href" values="javascript:${RUN}"/></svg>`
  const head =
    `<script>${RUN}</script><script src="${at('script.js')}"></script><script type="module" src="${at('module.js')}"></script>` +
    `<base href="${stranger}/base/" target="_top"/><meta http-equiv="refresh" content="0;url=${at('refresh')}"/>` +
    ['preconnect', 'dns-prefetch', 'prefetch', 'modulepreload', 'icon', 'manifest', 'stylesheet', 'prerender', 'alternate stylesheet']
      .map((rel) => `<link rel="${rel}" href="${at(rel.replace(' ', '-'))}"/>`)
      .join('') +
    `<link rel="preload" as="image" href="${at('preload')}"/>` +
    `<style>@import url("${at('import.css')}"); @font-face { font-family: Stranger; src: url("${at('font.woff2')}"); } ` +
    `body { font-family: Stranger; background: url("${at('background')}"); } p::before { content: url("${at('content')}"); } ` +
    '#overlay { position: fixed; inset: 0; z-index: 2147483647; }</style>'
  const media =
    `<img src="${at('img')}" srcset="${at('srcset')} 2x" onerror="${RUN}" alt="remote"/><picture><source srcset="${at('source')}"/><img src="${at('picture')}" alt=""/></picture>` +
    `<video src="${at('video')}" poster="${at('poster')}" autoplay="autoplay"/><audio src="${at('audio')}" autoplay="autoplay"/>` +
    `<object data="${at('object')}"></object><embed src="${at('embed')}"/><iframe src="${at('frame')}"></iframe><iframe src="/"></iframe>` +
    `<iframe srcdoc="&lt;script&gt;${RUN}&lt;/script&gt;"></iframe>`
  const controls =
    `<form action="${at('form')}" method="post"><input autofocus="autofocus" onfocus="${RUN}"/><button>send</button></form>` +
    `<p><a href="javascript:${RUN}">script link</a> <a href="${at('link')}" ping="${at('ping')}">far link</a> <a href="data:text/html,x">data link</a></p>` +
    `<math xmlns="http://www.w3.org/1998/Math/MathML"><mrow href="uncleaned.xhtml"><mi>math link</mi></mrow><semantics><annotation-xml encoding="text/html"><img ${XHTML} src="x" onerror="${RUN}"/></annotation-xml></semantics></math>`
  const body = `<h1>Hostile</h1><p>The first words of it.</p>${drawing}${media}${controls}<div id="overlay" onclick="${RUN}"></div>`
  return `<?xml-stylesheet href="${at('xml-stylesheet')}"?>${page(body, head, `onload="${RUN}" style="background: url('${at('style')}')"`)}`
}

const drawnChapter = (stranger: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 300" onload="${RUN}"><script>${RUN}</script><text x="9" y="40">A drawn page</text>` +
  `<image href="${stranger}/drawn-image" width="9" height="9"/><style>@import url("${stranger}/drawn.css");</style></svg>`

const CHAPTERS = ['hostile', 'drawn', 'missing', 'last'] as const
const typeOf = (id: string): string => (id === 'drawn' ? 'image/svg+xml' : 'application/xhtml+xml')
const fileOf = (id: string): string => `${id}.${id === 'drawn' ? 'svg' : 'xhtml'}`

/** A book that tries to run scripts and to reach a stranger, lacks a chapter and names another twice. @param stranger address of the other host */
export function hostileBook(stranger: string): Uint8Array {
  const items = CHAPTERS.map((id) => `<item id="${id}" href="${fileOf(id)}" media-type="${typeOf(id)}"/>`)
  return buildEpub({
    metadata: `<dc:title>Hostile &lt;script&gt;${RUN}&lt;/script&gt;</dc:title><dc:language>en</dc:language>`,
    manifest: [...items, ...items.slice(-1), `<item id="far" href="${stranger}/far.xhtml" media-type="application/xhtml+xml"/>`].join(''),
    spine: [...CHAPTERS, 'last', 'far', 'nowhere'].map((id) => `<itemref idref="${id}"/>`).join(''),
    files: {
      'hostile.xhtml': hostileChapter(stranger),
      'drawn.svg': drawnChapter(stranger),
      'last.xhtml': page('<p>The last words of it.</p>'),
      // Links lead to it, and no reading order.
      'uncleaned.xhtml': page('<p>Not cleaned.</p>', `<link rel="preconnect" href="${stranger}/uncleaned"/>`),
    },
  })
}

const CONTENTS = 10_000
/** Two elements each; the server reads XML of 256 levels. */
const DEPTH = 100

/** A book with 10,000 entries of contents, 100 deep, and a chapter of 5 MB. */
/** @param letters of its first chapter */
export function hugeBook(letters: number): Uint8Array {
  const entries = (from: number): string =>
    Array.from({ length: Math.floor(CONTENTS / DEPTH) }, (_, at) => `<li><a href="c.xhtml">Entry ${from + at}</a></li>`).join('')
  let navigation = ''
  for (let depth = DEPTH; depth > 0; depth--)
    navigation = `<ol><li><a href="c.xhtml">Depth ${depth}</a>${navigation}</li>${entries(depth * 1000)}</ol>`
  const paragraph = `<p>${'A word and another one follow each other here. '.repeat(40)}</p>`
  return buildEpub({
    metadata: '<dc:title>Huge</dc:title><dc:language>en</dc:language>',
    manifest:
      '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/><item id="d" href="d.xhtml" media-type="application/xhtml+xml"/>' +
      '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>',
    spine: '<itemref idref="c"/><itemref idref="d"/>',
    files: {
      'c.xhtml': page(`<h1>Huge chapter</h1>${paragraph.repeat(Math.ceil(letters / paragraph.length))}`),
      'd.xhtml': page('<p>After the huge chapter.</p>'),
      'nav.xhtml': page(`<nav epub:type="toc">${navigation}</nav>`),
    },
  })
}
