import * as esbuild from 'esbuild'
import { openPlaces, type Place } from './source-places.ts'

/** What stands in a bundle, without running it. */
export interface BundleScan {
  /** Texts in it: string literals, and the fixed parts of templates. */
  literals: string[]
  /** Where the source has the text of this number among the literals; null where no source map says it. */
  placeOf: (literal: number) => Place | null
  /** Global names in it, of those that were asked for, as often as they stand there: whether it asks by `typeof` if there is such a thing. */
  globals: { name: string; asked: boolean; place: Place | null }[]
  /** What it imports when it runs. */
  imports: string[]
  /** Names of what it exports. */
  exports: string[]
  /** The code without its texts and comments. */
  bare: string
}

const MARK = '__carrel_global_'

/**
 * Reads a bundle. The bundler's own parser finds out which names are global (a parameter called `process` is not), takes the comments out and puts
 * texts together that were only written apart.
 * @param names of globals to look for
 * @param map of the bundle, by which places are those of its sources; null where it has none: then they are lines of the bundle
 * @throws Error where the code is none
 */
export async function scanBundle(code: string, names: readonly string[], map: string | null = null): Promise<BundleScan> {
  const define = Object.fromEntries(
    names.flatMap((name) => [
      [name, `${MARK}${name}`],
      [`globalThis.${name}`, `${MARK}${name}`],
    ]),
  )
  // Without white space there are no comments either.
  const plain = {
    logLevel: 'silent',
    legalComments: 'none',
    charset: 'utf8',
    format: 'esm',
    target: 'es2022',
    minifyWhitespace: true,
  } as const
  // The bundler puts the maps together, from what it prints here to the sources of the bundle.
  const mapped = { ...plain, sourcemap: 'external', sourcefile: 'main.js' } as const
  const withMap =
    map === null ? code : `${code.replace(MAP_COMMENT, '')}\n//# sourceMappingURL=data:application/json;base64,${toBase64(map)}`
  const [marked, short, built] = await Promise.all([
    esbuild.transform(withMap, { ...mapped, define }),
    esbuild.transform(withMap, { ...mapped, minifySyntax: true }),
    esbuild.build({ ...plain, stdin: { contents: code, loader: 'js' }, bundle: true, write: false, metafile: true, external: ['*'] }),
  ])
  const placeIn = openPlaces(marked.code, marked.map)
  const found = splitTexts(marked.code).bare.matchAll(new RegExp(`(\\btypeof )?${MARK}([A-Za-z_$]+)`, 'g'))
  const globals = [...found].map(({ index, 1: typeOf, 2: name = '' }) => {
    const asked = typeOf !== undefined
    return { name, asked, place: placeIn(index + (typeOf?.length ?? 0)) }
  })
  const imports = Object.values(built.metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path))
  const exports = Object.values(built.metafile.outputs).flatMap((output) => output.exports)
  const { literals, starts, bare } = splitTexts(short.code)
  const placeInShort = openPlaces(short.code, short.map)
  const placeOf = (literal: number): Place | null => placeInShort(starts[literal] ?? 0)
  return { literals, placeOf, bare, globals, imports: [...new Set(imports)], exports }
}

const MAP_COMMENT = /\n\/\/# sourceMappingURL=[^\n]*\s*$/
const toBase64 = (text: string): string => Buffer.from(text).toString('base64')

/**
 * Takes texts out of code that the bundler has printed, so there are no comments in it. What remains is as long as before, with spaces in place of
 * texts. Whether a slash begins a regular expression is told by what stands before it, which in printed code is enough.
 */
export function splitTexts(code: string): { literals: string[]; starts: number[]; bare: string } {
  const literals: string[] = []
  /** Where each of them begins: at its sign, for maps know nothing of what is behind it. */
  const starts: number[] = []
  let bare = ''
  /** Depths of braces at which a template goes on. */
  const templates: number[] = []
  let depth = 0
  let at = 0
  const takeText = (end: string): void => {
    const from = at
    while (at < code.length && code[at] !== end && !(end === '`' && code.startsWith('${', at))) at += code[at] === '\\' ? 2 : 1
    const text = code.slice(from, at)
    literals.push(unescapeText(text))
    starts.push(from - 1)
    bare += text.replace(/[^\n]/g, ' ')
    if (end === '`' && code.startsWith('${', at)) {
      templates.push(depth)
      bare += '  '
      at += 2
    } else {
      bare += ' '
      at += 1
    }
  }
  while (at < code.length) {
    const letter = code[at] as string
    if (letter === '"' || letter === "'" || letter === '`') {
      bare += ' '
      at += 1
      takeText(letter)
      continue
    }
    if (letter === '}' && templates.at(-1) === depth) {
      templates.pop()
      bare += ' '
      at += 1
      takeText('`')
      continue
    }
    if (letter === '/' && beginsRegex(bare)) {
      const end = endOfRegex(code, at)
      bare += code.slice(at, end).replace(/[^\n]/g, ' ')
      at = end
      continue
    }
    if (letter === '{') depth += 1
    if (letter === '}') depth -= 1
    bare += letter
    at += 1
  }
  return { literals, starts, bare }
}

const AFTER_WORD = /(^|[^\w$.])(return|typeof|case|do|else|in|instanceof|new|of|void|delete|throw|await|yield)$/

function beginsRegex(before: string): boolean {
  const text = before.slice(-40).trimEnd()
  return text === '' || /[([{,;=:!&|?+\-*%<>~^}]$/.test(text) || AFTER_WORD.test(text)
}

function endOfRegex(code: string, start: number): number {
  let inClass = false
  for (let at = start + 1; at < code.length; at++) {
    const letter = code[at]
    if (letter === '\\') at += 1
    else if (letter === '\n') return start + 1
    else if (letter === '[') inClass = true
    else if (letter === ']') inClass = false
    else if (letter === '/' && !inClass) return at + 1
  }
  return start + 1
}

const unescapeText = (text: string): string =>
  text.replace(/\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g, (_all, braced, four, two, one) => {
    const hex = braced ?? four ?? two
    if (hex === undefined) return one === 'n' ? '\n' : one === 't' ? '\t' : one === '\n' ? '' : one
    const code = Number.parseInt(hex, 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : ''
  })
