import * as esbuild from 'esbuild'
import { lineFinder, type SourceLine, withInlineMap } from '#plugins/devkit/source-lines.ts'

/** The static content of a bundle. */
export interface BundleScan {
  /** Its texts: string literals, and the fixed parts of templates. */
  literals: string[]
  /** The line in the source of the literal with this index; null when the source map does not say. */
  lineOf: (literal: number) => SourceLine | null
  /** Every use of a global name from the given list; `isTested` when the code tests for it with `typeof`. */
  globals: { name: string; isTested: boolean; line: SourceLine | null }[]
  /** Its imports at run time. */
  imports: string[]
  /** The names of its exports. */
  exports: string[]
  /** The code without literals and comments. */
  bare: string
}

const MARK = '__carrel_global_'

/**
 * Scans a bundle. The bundler's own parser resolves which names are global (a parameter called `process` is not), removes comments and joins
 * concatenated texts.
 * @param names of globals to look for
 * @param map of the bundle, to report lines of its sources; null when there is none: then they are lines of the bundle
 * @throws Error when the code does not parse
 */
export async function scanBundle(code: string, names: readonly string[], map: string | null = null): Promise<BundleScan> {
  const define = Object.fromEntries(
    names.flatMap((name) => [
      [name, `${MARK}${name}`],
      [`globalThis.${name}`, `${MARK}${name}`],
    ]),
  )
  // Minified code has no comments either.
  const plain = {
    logLevel: 'silent',
    legalComments: 'none',
    charset: 'utf8',
    format: 'esm',
    target: 'es2022',
    minifyWhitespace: true,
  } as const
  // The bundler combines the maps, from its output here to the sources of the bundle.
  const mapped = { ...plain, sourcemap: 'external', sourcefile: 'main.js' } as const
  const withMap = withInlineMap(code, map)
  const [marked, short, built] = await Promise.all([
    esbuild.transform(withMap, { ...mapped, define }),
    esbuild.transform(withMap, { ...mapped, minifySyntax: true }),
    esbuild.build({ ...plain, stdin: { contents: code, loader: 'js' }, bundle: true, write: false, metafile: true, external: ['*'] }),
  ])
  const lineIn = lineFinder(marked.code, marked.map)
  const found = splitTexts(marked.code).bare.matchAll(new RegExp(`(\\btypeof )?${MARK}([A-Za-z_$]+)`, 'g'))
  const globals = [...found].map(({ index, 1: typeOf, 2: name = '' }) => {
    const isTested = typeOf !== undefined
    return { name, isTested, line: lineIn(index + (typeOf?.length ?? 0)) }
  })
  const imports = Object.values(built.metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path))
  const exports = Object.values(built.metafile.outputs).flatMap((output) => output.exports)
  const { literals, starts, bare } = splitTexts(short.code)
  const lineInShort = lineFinder(short.code, short.map)
  const lineOf = (literal: number): SourceLine | null => lineInShort(starts[literal] ?? 0)
  return { literals, lineOf, bare, globals, imports: [...new Set(imports)], exports }
}

/**
 * Blanks literals out of code printed by the bundler, which has no comments. The result has the same length, with spaces in place of
 * literals. Whether a slash begins a regular expression follows from the character before it, which is enough in printed code.
 */
export function splitTexts(code: string): { literals: string[]; starts: number[]; bare: string } {
  const literals: string[] = []
  /** Where each literal begins: at its quote, because maps have no entries inside it. */
  const starts: number[] = []
  let bare = ''
  /** Depths of braces at which a template literal continues. */
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
