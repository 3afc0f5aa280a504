import { pluginTexts } from '#texts/plugins.ts'
import { consentEntries } from './consent-lines.ts'
import style from './plugins.module.css'

/** What a plugin asks for, or what differs in it, in the words of its record; what its author says about it is quieter. */
export function ConsentList({ lines }: { lines: readonly string[] }) {
  const entries = consentEntries(lines)
  return (
    <>
      <ul className={style['lines']}>
        {entries.map(({ text, isByAuthor, change }, index) => (
          // Authors may repeat themselves.
          <li key={index} className={isByAuthor ? style['by-author'] : undefined} dir="auto">
            {change === null ? text : pluginTexts[change]({ line: text })}
          </li>
        ))}
      </ul>
      {entries.some(({ isByAuthor }) => isByAuthor) && <p className="small quiet">{pluginTexts.byAuthor()}</p>}
    </>
  )
}
