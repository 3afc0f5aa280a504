import { useQuery } from '@tanstack/react-query'
import { LogOut, Monitor, Moon, MoonStar, Sun, User } from 'lucide-react'
import { meQuery, signOut } from '#api/session.ts'
import { type Place, usePlacesOfPhoneMenu } from '#app/frame/navigation.ts'
import { hasPage } from '#app/page-list.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { chooseTheme, chosenTheme, THEMES } from '#parts/theme.ts'
import { appTexts } from '#texts/app.ts'

const THEME_WORDS = {
  system: { text: appTexts.themeSystem, icon: Monitor },
  light: { text: appTexts.themeLight, icon: Sun },
  dark: { text: appTexts.themeDark, icon: Moon },
  black: { text: appTexts.themeBlack, icon: MoonStar },
} as const

/** As in base.css: the bottom bar stands there in place of the side bar. */
const PHONE = '(width < 600px)'

export function UserMenu() {
  const name = useQuery(meQuery).data?.username ?? ''
  const label = appTexts.account({ name })
  const places = usePlacesOfPhoneMenu(useMayDo('libraries-write'))
  const { openFrom, menu } = useMenu(label, () => entries(matchMedia(PHONE).matches ? places : []))
  const initial = [...name][0]?.toUpperCase() ?? '?'
  return (
    <>
      <button type="button" className="user" aria-label={label} title={name} aria-haspopup="menu" onClick={openFrom}>
        <span className="avatar" aria-hidden="true">
          {initial}
        </span>
      </button>
      {menu}
    </>
  )
}

/** @param places that the bottom bar has no room for */
function entries(places: readonly Place[]): MenuEntry[] {
  const chosen = chosenTheme()
  return [
    ...places.map(({ href, icon, text }) => ({ href, icon, text: text() })),
    ...(hasPage('/profile') ? [{ text: appTexts.profile(), icon: User, href: '/profile' }] : []),
    ...THEMES.map((theme) => ({
      text: THEME_WORDS[theme].text(),
      icon: THEME_WORDS[theme].icon,
      isChosen: theme === chosen,
      run: () => chooseTheme(theme),
    })),
    { text: appTexts.signOut(), icon: LogOut, run: () => void signOut().catch(sayFailure) },
  ]
}
