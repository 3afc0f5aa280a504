import { Link, useLocation } from 'wouter'
import { BOTTOM_PLACES, isAt } from '#app/frame/navigation.ts'
import { Icon } from '#parts/icon.tsx'
import { appTexts } from '#texts/app.ts'

/** On phones, in place of the side bar. */
export function BottomBar() {
  const [path] = useLocation()
  return (
    <nav className="bottom" aria-label={appTexts.mainPhone()}>
      {BOTTOM_PLACES.map(({ href, icon, text }) => (
        <Link key={href} href={href} aria-current={isAt(path, href) ? 'page' : undefined}>
          <Icon of={icon} />
          <span className="clip">{text()}</span>
        </Link>
      ))}
    </nav>
  )
}
