import { useState } from 'react'
import { chooseTheme, chosenTheme, THEMES } from '#parts/theme.ts'
import { profileTexts } from '#texts/profile.ts'
import style from './profile.module.css'

export function ThemeChoice() {
  const [chosen, setChosen] = useState(chosenTheme)
  return (
    <fieldset>
      <legend className="visually-hidden">{profileTexts.theme()}</legend>
      <div className={style['themes']}>
        {THEMES.map((theme) => (
          <label key={theme} className={style['theme']}>
            <input
              type="radio"
              name="theme"
              checked={theme === chosen}
              onChange={() => {
                chooseTheme(theme)
                setChosen(theme)
              }}
            />
            <span className={style['mini']} data-mini={theme} aria-hidden="true">
              <i />
              <i />
              <i />
            </span>
            {profileTexts[theme]()}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
