import * as esbuild from 'esbuild'

/** What stands in a bundle, without running it. */
export interface BundleScan {
  /** Texts in it: string literals, and the fixed parts of templates. */
  literals: string[]
  /** Global names in it, of those that were asked for: whether it uses them, and whether it asks by `typeof` if there is such a thing. */
  globals: Map<string, { used: boolean; guarded: boolean }>
  /** What it imports when it runs. */
  imports: string[]
  /** The code without its texts and comments. */
  bare: string
}

const MARK = '__carrel_global_'

/**
 * Reads a bundle. The bundler's own parser finds out which names are global (a parameter called `process` is not), takes the comments out and puts
 * texts together that were only written apart.
 * @param names of globals to look for
 * @throws Error where the code is none
 */
export async function scanBundle(code: string, names: readonly string[]): Promise<BundleScan> {
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
  const [{ code: marked }, { code: short }, built] = await Promise.all([
    esbuild.transform(code, { ...plain, define }),
    esbuild.transform(code, { ...plain, minifySyntax: true }),
    esbuild.build({ ...plain, stdin: { contents: code, loader: 'js' }, bundle: true, write: false, metafile: true, external: ['*'] }),
  ])
  const globals: BundleScan['globals'] = new Map()
  for (const [, asked, name = ''] of splitTexts(marked).bare.matchAll(new RegExp(`(\\btypeof )?${MARK}([A-Za-z_$]+)`, 'g'))) {
    const known = globals.get(name) ?? { used: false, guarded: false }
    globals.set(name, { used: known.used || asked === undefined, guarded: known.guarded || asked !== undefined })
  }
  const imports = Object.values(built.metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path))
  return { ...splitTexts(short), globals, imports: [...new Set(imports)] }
}

/**
 * Takes texts out of code that the bundler has printed, so there are no comments in it. What remains is as long as before, with spaces in place of
 * texts. Whether a slash begins a regular expression is told by what stands before it, which in printed code is enough.
 */
export function splitTexts(code: string): { literals: string[]; bare: string } {
  const literals: string[] = []
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
  return { literals, bare }
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
