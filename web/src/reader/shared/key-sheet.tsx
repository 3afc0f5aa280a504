import { X } from 'lucide-react'
import { Icon } from '#parts/icon.tsx'
import { hasLetterKeys } from '#parts/shortcuts.ts'
import { keyTexts, readerTexts } from '#texts/reader.ts'
import { ReaderDialog } from './reader-dialog.tsx'

/** A line of the sheet: what happens, and the keys for it. */
export interface KeyLine {
  words: string
  keys: readonly string[]
}

export interface KeyGroup {
  title: string
  lines: readonly KeyLine[]
}

interface SheetProps {
  groups: readonly KeyGroup[]
  note?: string | undefined
  onClose(): void
}

/** All keys of a reader. */
export function KeySheet({ groups, note, onClose }: SheetProps) {
  const said = hasLetterKeys() ? note : keyTexts.lettersOff()
  return (
    <ReaderDialog title={readerTexts.keys()} className="dialog keysheet" onClose={onClose}>
      <button type="button" className="icon-btn close" aria-label={readerTexts.close()} onClick={onClose}>
        <Icon of={X} />
      </button>
      <div className="keys">
        {groups.map(({ title, lines }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {lines.map(({ words, keys }) => (
                <div key={words}>
                  <dt>{words}</dt>
                  <dd>
                    {keys.map((key) => (
                      <kbd key={key}>{key}</kbd>
                    ))}
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      {said && <p>{said}</p>}
    </ReaderDialog>
  )
}

/** The keys that turn. @param next the arrow that goes on, by the direction of reading */
export const turnKeys = (next: string, previous: string): KeyLine[] => [
  { words: keyTexts.next(), keys: [next, keyTexts.space()] },
  { words: keyTexts.previous(), keys: [previous, `⇧ ${keyTexts.space()}`] },
  { words: keyTexts.firstLast(), keys: ['Home', 'End'] },
  { words: keyTexts.books(), keys: ['N', 'P'] },
]

export const EVERYWHERE_KEYS = (): KeyGroup => ({
  title: keyTexts.everywhere(),
  lines: [
    { words: keyTexts.bars(), keys: ['M'] },
    { words: keyTexts.settings(), keys: ['S'] },
    { words: keyTexts.fullScreen(), keys: ['F'] },
    { words: keyTexts.incognito(), keys: ['I'] },
    { words: keyTexts.keys(), keys: ['?'] },
    { words: keyTexts.back(), keys: ['Esc'] },
  ],
})
