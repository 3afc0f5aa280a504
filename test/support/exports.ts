import { dirname, posix } from 'node:path'
import type { SourceFile } from '#test/support/architecture.ts'

const DECLARED = /^export (?:declare )?(?:async )?(?:abstract )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm
const LISTED = /^export (?:type )?\{([^}]*)\}/gm
const NAMED = /^(?:import|export)\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^}]*)\}\s*from\s*'([^']+)'/gm
/** Imports of a whole module; the importing file names the members that it uses elsewhere. */
const WHOLE = /^(?:import\s+(?:type\s+)?\*\s+as\s+\w+|export\s+\*)[^'\n]*from\s*'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

/** The names in a list of imports or exports; `position` selects the first or the last name of `type One as Other`. */
const namesIn = (list: string, position: 0 | -1) =>
  list
    .split(',')
    .map((name) => name.trim().replace(/^type /, ''))
    .filter((name) => name !== '')
    .map((name) => name.split(' as ').at(position) as string)

function targetOf(from: string, specifier: string): string {
  if (specifier.startsWith('#')) return specifier.slice(1)
  return specifier.startsWith('.') ? posix.normalize(posix.join(dirname(from), specifier)) : specifier
}

/** What a file itself exports. */
export const declaredNames = ({ text }: SourceFile): string[] => [...text.matchAll(DECLARED)].map(([, name = '']) => name)

/** Exports that no other file imports, as `file: name`. Needs no parser, because in formatted code imports and exports begin a line. */
export function findUnusedExports(files: readonly SourceFile[]): string[] {
  const used = new Set<string>()
  const wholes: { target: string; text: string }[] = []
  for (const { path, text } of files) {
    for (const [, list = '', specifier = ''] of text.matchAll(NAMED))
      for (const name of namesIn(list, 0)) used.add(`${targetOf(path, specifier)}: ${name}`)
    for (const [, static_, dynamic] of text.matchAll(WHOLE)) wholes.push({ target: targetOf(path, static_ ?? dynamic ?? ''), text })
  }
  return files.flatMap((file) => {
    const { path, text } = file
    const listed = [...text.matchAll(LISTED)].flatMap(([, list = '']) => namesIn(list, -1))
    const readers = wholes.filter(({ target }) => target === path)
    const isUsed = (name: string) => used.has(`${path}: ${name}`) || readers.some((reader) => new RegExp(`\\b${name}\\b`).test(reader.text))
    return [...declaredNames(file), ...listed].filter((name) => !isUsed(name)).map((name) => `${path}: ${name}`)
  })
}
