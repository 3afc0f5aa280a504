/**
 * The steps between the bytes of an XML file and its markup: the encoding, the DOCTYPE and the references.
 * All of it is linear in the size of the text, whatever the text is: nothing here backtracks.
 */

const ENCODING_LABEL = /^\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']/

/**
 * Decodes by byte order mark, then by the shape of the first bytes (UTF-16 without a mark), then by the XML declaration,
 * then as UTF-8. A file that declares UTF-8 (or nothing) and is not valid UTF-8 is decoded as Windows-1252: that never fails, and
 * such files usually are Windows-1252. Line ends become `\n`; leading white space and trailing NULs are removed.
 */
export function decodeXmlText(bytes: Uint8Array): string {
  const text = decode(bytes).trimStart().replace(/\r\n?/g, '\n')
  // A loop, not /[\0\s]+$/: that expression takes quadratic time on a megabyte of blanks.
  let end = text.length
  while (end > 0 && text.charCodeAt(end - 1) <= 0x20) end--
  return text.slice(0, end)
}

function decode(bytes: Uint8Array): string {
  const [a, b, c] = [bytes[0] ?? 0, bytes[1] ?? 0, bytes[2] ?? 0]
  if (a === 0xef && b === 0xbb && c === 0xbf) return decodeAs('utf-8', bytes.subarray(3)) ?? decodeWindows1252(bytes.subarray(3))
  if (a === 0xff && b === 0xfe) return new TextDecoder('utf-16le').decode(bytes)
  if (a === 0xfe && b === 0xff) return new TextDecoder('utf-16be').decode(bytes)
  if (a === 0x3c && b === 0) return new TextDecoder('utf-16le').decode(bytes)
  if (a === 0 && b === 0x3c) return new TextDecoder('utf-16be').decode(bytes)
  const label = ENCODING_LABEL.exec(String.fromCharCode(...bytes.subarray(0, 256)))?.[1]?.toLowerCase()
  // The first bytes are ASCII, so a declared UTF-16 is wrong: a program re-encoded the file.
  if (label !== undefined && !label.startsWith('utf-16') && !label.startsWith('utf-8')) {
    const text = decodeAs(label, bytes)
    if (text !== undefined) return text
  }
  return decodeAs('utf-8', bytes) ?? decodeWindows1252(bytes)
}

/** Undefined when the label is unknown or the bytes are not of that encoding. */
function decodeAs(label: string, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function decodeWindows1252(bytes: Uint8Array): string {
  return new TextDecoder('windows-1252').decode(bytes)
}

/**
 * Removes the DOCTYPE, so that no parser sees an entity declaration: nothing is expanded and nothing is fetched.
 * Undefined when it is not closed. A second DOCTYPE is left for the parser to refuse.
 */
export function cutDoctype(text: string): string | undefined {
  const start = findDoctype(text)
  if (start === -1) return text
  let inSubset = false
  for (let at = start + 9; at < text.length; at++) {
    const char = text[at]
    if (char === '"' || char === "'") {
      at = text.indexOf(char, at + 1)
      if (at === -1) return undefined
    } else if (inSubset && text.startsWith('<!--', at)) {
      at = text.indexOf('-->', at + 4)
      if (at === -1) return undefined
    } else if (inSubset && text.startsWith('<?', at)) {
      at = text.indexOf('?>', at + 2)
      if (at === -1) return undefined
    } else if (char === '[') inSubset = true
    else if (char === ']') inSubset = false
    else if (char === '>' && !inSubset) return text.slice(0, start) + text.slice(at + 1)
  }
  return undefined
}

/** The DOCTYPE is in the prolog: only the declaration, comments and processing instructions may come before it. */
function findDoctype(text: string): number {
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at + 1)) {
    if (/^<!doctype/i.test(text.slice(at, at + 9))) return at
    if (text.startsWith('<!--', at)) at = text.indexOf('-->', at)
    else if (text.startsWith('<?', at)) at = text.indexOf('?>', at)
    else return -1
    if (at === -1) return -1
  }
  return -1
}

const REFERENCE = /&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][\w.-]{0,60});/gi
const REFERENCE_HERE = /&(?:#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z_][\w.-]{0,60});/iy

/** A file with more stray ampersands than this is not text; escaping a megabyte of them takes seconds. */
const STRAYS_MAX = 20_000

/**
 * Replaces every ampersand that begins no reference ("Salt & Pepper") by `&amp;`, outside CDATA and comments. Such files are
 * common and unambiguous, and a strict parser would reject the whole file.
 */
export function mendAmpersands(text: string): string {
  let mended = ''
  let kept = 0
  let strays = 0
  let nextSpan = findLiteralSpan(text, 0)
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    while (nextSpan !== undefined && nextSpan.end <= at) nextSpan = findLiteralSpan(text, nextSpan.end)
    if (nextSpan !== undefined && nextSpan.start < at) {
      at = nextSpan.end - 1
      continue
    }
    REFERENCE_HERE.lastIndex = at
    if (REFERENCE_HERE.test(text)) continue
    strays++
    if (strays > STRAYS_MAX) break
    mended += text.slice(kept, at) + '&amp;'
    kept = at + 1
  }
  return mended + text.slice(kept)
}

/** The next CDATA section or comment; an unclosed one reaches to the end. */
function findLiteralSpan(text: string, from: number): { start: number; end: number } | undefined {
  for (let at = text.indexOf('<!', from); at !== -1; at = text.indexOf('<!', at + 2)) {
    const closing = text.startsWith('<!--', at) ? '-->' : text.startsWith('<![CDATA[', at) ? ']]>' : undefined
    if (closing === undefined) continue
    const end = text.indexOf(closing, at + 4)
    return { start: at, end: end === -1 ? text.length : end + 3 }
  }
  return undefined
}

/**
 * Resolves character references, the five names of XML and those of HTML that book files use. Any other name (such as one that the
 * DOCTYPE declares) stays as written and is passed to `onUnknown`.
 */
export function resolveReferences(text: string, onUnknown: (name: string) => void): string {
  if (!text.includes('&')) return text
  return text.replace(REFERENCE, (written, name: string) => {
    if (name.startsWith('#')) {
      const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number.parseInt(name.slice(1), 10)
      return isCharacter(code) ? String.fromCodePoint(code) : '\uFFFD'
    }
    const known = NAMED.get(name)
    if (known === undefined) onUnknown(name)
    return known ?? written
  })
}

/** XML 1.0 production 2: no surrogates, no C0 controls but tab and line ends. */
function isCharacter(code: number): boolean {
  if (code < 0x20) return code === 0x9 || code === 0xa || code === 0xd
  return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff && code !== 0xfffe && code !== 0xffff)
}

// HTML's names of U+00A0 to U+00FF in order: XHTML pages and OPF files made from them use these without declaring them.
const LATIN_1 =
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro para middot ' +
  'cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml ' +
  'Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig ' +
  'agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ' +
  'ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml'

// Of U+0391 to U+03A9, which has one gap, and in lower case of U+03B1 to U+03C9, whose gap is `sigmaf`.
const GREEK =
  'Alpha Beta Gamma Delta Epsilon Zeta Eta Theta Iota Kappa Lambda Mu Nu Xi Omicron Pi Rho - Sigma Tau Upsilon Phi Chi Psi Omega'.split(' ')

// The other symbols of HTML 4, each before its name.
const SYMBOLS =
  '\u0192fnof \u02C6circ \u02DCtilde \u03D1thetasym \u03D2upsih \u03D6piv \u200Elrm \u200Frlm \u2021Dagger \u2030permil \u2033Prime \u203Eoline \u2044frasl \u2111image \u2118weierp \u211Creal ' +
  '\u2135alefsym \u2190larr \u2191uarr \u2192rarr \u2193darr \u2194harr \u21B5crarr \u21D0lArr \u21D1uArr \u21D2rArr \u21D3dArr \u21D4hArr \u2200forall \u2202part \u2203exist \u2205empty ' +
  '\u2207nabla \u2208isin \u2209notin \u220Bni \u220Fprod \u2211sum \u2212minus \u2217lowast \u221Aradic \u221Dprop \u221Einfin \u2220ang \u2227and \u2228or \u2229cap \u222Acup \u222Bint ' +
  '\u2234there4 \u223Csim \u2245cong \u2248asymp \u2260ne \u2261equiv \u2264le \u2265ge \u2282sub \u2283sup \u2284nsub \u2286sube \u2287supe \u2295oplus \u2297otimes \u22A5perp \u22C5sdot ' +
  '\u2308lceil \u2309rceil \u230Alfloor \u230Brfloor \u27E8lang \u27E9rang \u25CAloz \u2660spades \u2663clubs \u2665hearts \u2666diams'

const NAMED = new Map<string, string>([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
  ['ndash', '–'],
  ['mdash', '—'],
  ['lsquo', '‘'],
  ['rsquo', '’'],
  ['sbquo', '‚'],
  ['ldquo', '“'],
  ['rdquo', '”'],
  ['bdquo', '„'],
  ['lsaquo', '‹'],
  ['rsaquo', '›'],
  ['hellip', '…'],
  ['bull', '•'],
  ['dagger', '†'],
  ['prime', '′'],
  ['euro', '€'],
  ['trade', '™'],
  ['OElig', 'Œ'],
  ['oelig', 'œ'],
  ['Scaron', 'Š'],
  ['scaron', 'š'],
  ['Yuml', 'Ÿ'],
  ['ensp', '\u2002'],
  ['emsp', '\u2003'],
  ['thinsp', '\u2009'],
  ['zwnj', '\u200C'],
  ['zwj', '\u200D'],
  ['sigmaf', 'ς'],
  ...GREEK.flatMap((name, index): [string, string][] => [
    [name, String.fromCodePoint(0x391 + index)],
    [name.toLowerCase(), String.fromCodePoint(0x3b1 + index)],
  ]),
  ...SYMBOLS.split(' ').map((entry): [string, string] => [entry.slice(1), entry.charAt(0)]),
  ...LATIN_1.split(' ').map((name, index): [string, string] => [name, String.fromCodePoint(0xa0 + index)]),
])
