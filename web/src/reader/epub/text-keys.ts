import { keyTexts } from '#texts/reader.ts'
import { EVERYWHERE_KEYS, type KeyGroup, turnKeys } from '../shared/key-sheet.tsx'

/** The keys of the reader of texts. */
export function textKeys(direction: 'ltr' | 'rtl'): KeyGroup[] {
  const [next, previous] = direction === 'rtl' ? (['←', '→'] as const) : (['→', '←'] as const)
  return [
    {
      title: keyTexts.turn(),
      lines: [
        ...turnKeys(next, previous),
        { words: keyTexts.contents(), keys: ['C'] },
        { words: keyTexts.search(), keys: ['/'] },
        { words: keyTexts.bookmark(), keys: ['B'] },
      ],
    },
    EVERYWHERE_KEYS(),
  ]
}
