import { keyTexts } from '#texts/reader.ts'
import { EVERYWHERE_KEYS, type KeyGroup, turnKeys } from '../shared/key-sheet.tsx'
import type { Direction } from './page-rules.ts'

const ARROWS: Record<Direction, readonly [next: string, previous: string]> = { ltr: ['→', '←'], rtl: ['←', '→'], ttb: ['↓', '↑'] }

/** The keys of the reader of pages, in the present direction. */
export function pageKeys(direction: Direction): KeyGroup[] {
  const [next, previous] = ARROWS[direction]
  return [
    { title: keyTexts.turn(), lines: turnKeys(next, previous) },
    {
      title: keyTexts.go(),
      lines: [
        { words: keyTexts.byNumber(), keys: ['G'] },
        { words: keyTexts.overview(), keys: ['T'] },
        { words: keyTexts.bookmark(), keys: ['B'] },
      ],
    },
    {
      title: keyTexts.look(),
      lines: [
        { words: keyTexts.layouts(), keys: ['1', '2', '3'] },
        { words: keyTexts.offset(), keys: ['O'] },
        { words: keyTexts.direction(), keys: ['D'] },
        { words: keyTexts.rotate(), keys: ['R'] },
        { words: keyTexts.fits(), keys: ['W', 'H', 'Z'] },
        { words: keyTexts.zooms(), keys: ['+', '−', '0'] },
      ],
    },
    EVERYWHERE_KEYS(),
  ]
}
