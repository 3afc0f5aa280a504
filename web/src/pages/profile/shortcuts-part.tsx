import { useState } from 'react'
import { Check } from '#parts/controls.tsx'
import { hasLetterKeys, setLetterKeys } from '#parts/shortcuts.ts'
import { textKeys } from '#reader/epub/text-keys.ts'
import { pageKeys } from '#reader/pages/page-keys.ts'
import { pluginTexts } from '#texts/plugins.ts'
import { profileTexts } from '#texts/profile.ts'
import style from './profile.module.css'

interface KeyLine {
  words: string
  keys: readonly string[]
}

const ARROWS = ['←', '→', '↑', '↓']

const everywhere = (): KeyLine[] => [
  { words: pluginTexts.searchKey(), keys: ['/', 'Ctrl K'] },
  { words: pluginTexts.closeKey(), keys: ['Esc'] },
  { words: pluginTexts.moveKey(), keys: ['←', '→', '↑', '↓'] },
  { words: pluginTexts.endsKey(), keys: ['Home', 'End'] },
  { words: pluginTexts.openKey(), keys: ['Enter'] },
]

/** All keys of the interface and of both readers, and whether letters are among them. */
export function ShortcutsPart() {
  const [isOn, setIsOn] = useState(hasLetterKeys)
  const groups = [
    { title: pluginTexts.everywhere(), lines: everywhere() },
    { title: pluginTexts.pagesReader(), lines: pageKeys('ltr').flatMap(({ lines }) => lines) },
    { title: pluginTexts.textReader(), lines: textKeys('ltr').flatMap(({ lines }) => lines) },
  ]
  const turn = (next: boolean) => {
    setLetterKeys(next)
    setIsOn(next)
  }
  return (
    <>
      <Check isSwitch checked={isOn} onChange={({ currentTarget }) => turn(currentTarget.checked)}>
        {profileTexts.letterKeys()} <span className="small quiet">{profileTexts.letterKeysWords()}</span>
      </Check>
      <div className={style['keys']}>
        {groups.map(({ title, lines }) => (
          <KeyGroup key={title} title={title} lines={isOn ? lines : lines.map(withoutLetters).filter(({ keys }) => keys.length > 0)} />
        ))}
      </div>
    </>
  )
}

const withoutLetters = ({ words, keys }: KeyLine): KeyLine => ({
  words,
  keys: keys.filter((key) => key.length > 1 || ARROWS.includes(key)),
})

function KeyGroup({ title, lines }: { title: string; lines: readonly KeyLine[] }) {
  return (
    <section>
      <h3 className="group-title">{title}</h3>
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
  )
}
