import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const WORDS = 'River Stone Winter Garden Silver Empire Night Crown Harbor Signal Copper Meadow Thunder Ivory Lantern Orchard'.split(' ')
const pad = (number: number, digits: number) => String(number).padStart(digits, '0')
const nameOf = (index: number) => [0, 4, 8].map((shift) => WORDS[(index >> shift) & 15]).join(' ')

/** A kind of folder that people have: so many files of each series, and their paths. */
interface TreeKind {
  share: number
  perSeries: number
  pathOf: (name: string, index: number, series: number) => string
}

const KINDS: readonly TreeKind[] = [
  {
    share: 0.2,
    perSeries: 60,
    pathOf: (name, index) => `Manga/${name}/Vol ${pad(Math.floor(index / 10) + 1, 2)}/${name} c${pad(index + 1, 3)}.cbz`,
  },
  { share: 0.2, perSeries: 20, pathOf: (name, index) => `${name}/${name} v${pad(index + 1, 2)} (2019) (Digital) (group).cbz` },
  { share: 0.15, perSeries: 40, pathOf: (name, index) => `Publisher/${name} (2012)/${name} ${pad(index + 1, 3)} (2012) (digital).cbr` },
  { share: 0.15, perSeries: 10, pathOf: (name, index, series) => `Downloads ${series >> 7}/${name} ${index + 1} - Title ${series}.cbz` },
  { share: 0.15, perSeries: 1, pathOf: (name, _, series) => `Calibre/${name} Author/${name} (${series})/${name} - Author ${series}.epub` },
  { share: 0.1, perSeries: 12, pathOf: (name, index) => `Authors/${name}/The ${nameOf(index * 311 + 7)} of ${name}.epub` },
  { share: 0.05, perSeries: 1, pathOf: (name, _, series) => `${name} - A Tale of ${series} (2015).pdf` },
]

/** Writes about so many files without content, in the ways in which people arrange them. */
export function writeMixedTree(root: string, files: number): void {
  const folders = new Set<string>()
  for (const { share, perSeries, pathOf } of KINDS)
    for (let at = 0; at < files * share; at++) {
      const series = Math.floor(at / perSeries)
      const path = join(root, pathOf(`${nameOf(series)} ${series >> 12 || ''}`.trim(), at % perSeries, series))
      const folder = dirname(path)
      if (!folders.has(folder)) mkdirSync(folder, { recursive: true })
      folders.add(folder)
      writeFileSync(path, '')
      if (path.includes('/Calibre/')) writeFileSync(join(folder, 'metadata.opf'), '<package/>')
    }
}
