import { keyTexts } from '#texts/reader.ts'
import { EVERYWHERE_KEYS, type KeyGroup } from '../shared/key-sheet.tsx'

/** The keys of the reader of texts. */
export function textKeys(direction: 'ltr' | 'rtl'): KeyGroup[] {
  const [next, previous] = direction === 'rtl' ? ['←', '→'] : ['→', '←']
  return [
    {
      title: keyTexts.turn(),
      lines: [
        { words: keyTexts.next(), keys: [next, keyTexts.space()] },
        { words: keyTexts.previous(), keys: [previous, `⇧ ${keyTexts.space()}`] },
        { words: keyTexts.firstLast(), keys: ['Home', 'End'] },
        { words: keyTexts.books(), keys: ['N', 'P'] },
        { words: keyTexts.contents(), keys: ['C'] },
        { words: keyTexts.search(), keys: ['/'] },
        { words: keyTexts.bookmark(), keys: ['B'] },
      ],
    },
    EVERYWHERE_KEYS(),
  ]
}
