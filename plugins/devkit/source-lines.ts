import { SourceMap } from 'node:module'

/** A place in the author's sources. */
export interface SourceLine {
  file: string
  /** From 1. */
  line: number
}

/** Maps offsets of a printed text to lines of a source; null where its map has no entry. */
export function lineFinder(text: string, map: string): (at: number) => SourceLine | null {
  const read = new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0])
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  const lineOf = (at: number): number => {
    let [low, high] = [0, starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((starts[middle] as number) <= at) low = middle
      else high = middle - 1
    }
    return low
  }
  return (at) => {
    const line = lineOf(at)
    const entry = read.findEntry(line, at - (starts[line] as number)) as { originalSource?: string; originalLine?: number }
    if (typeof entry.originalSource !== 'string' || typeof entry.originalLine !== 'number') return null
    return { file: entry.originalSource, line: entry.originalLine + 1 }
  }
}

/** The package that a file belongs to; null for the author's own files. */
export function packageOf(file: string): string | null {
  const names = file.split('/')
  const at = names.lastIndexOf('node_modules') + 1
  if (at === 0 || at === names.length) return null
  return names.slice(at, at + (names[at]?.startsWith('@') ? 2 : 1)).join('/')
}

export const spelled = ({ file, line }: SourceLine): string => `${file}:${line}`
