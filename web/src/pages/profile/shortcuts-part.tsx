import { textKeys } from '#reader/epub/text-keys.ts'
import { pageKeys } from '#reader/pages/page-keys.ts'
import { pluginTexts } from '#texts/plugins.ts'
import style from './profile.module.css'

interface KeyLine {
  words: string
  keys: readonly string[]
}

const everywhere = (): KeyLine[] => [
  { words: pluginTexts.searchKey(), keys: ['/', 'Ctrl K'] },
  { words: pluginTexts.closeKey(), keys: ['Esc'] },
  { words: pluginTexts.moveKey(), keys: ['←', '→', '↑', '↓'] },
  { words: pluginTexts.endsKey(), keys: ['Home', 'End'] },
  { words: pluginTexts.openKey(), keys: ['Enter'] },
]

/** All keys of the interface and of both readers. */
export function ShortcutsPart() {
  const groups = [
    { title: pluginTexts.everywhere(), lines: everywhere() },
    { title: pluginTexts.pagesReader(), lines: pageKeys('ltr').flatMap(({ lines }) => lines) },
    { title: pluginTexts.textReader(), lines: textKeys('ltr').flatMap(({ lines }) => lines) },
  ]
  return (
    <div className={style['keys']}>
      {groups.map(({ title, lines }) => (
        <section key={title}>
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
      ))}
    </div>
  )
}
