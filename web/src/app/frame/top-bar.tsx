import { Search } from 'lucide-react'
import { useCallback } from 'react'
import { Link, useLocation } from 'wouter'
import { RunningWork } from '#app/frame/running-work.tsx'
import { UserMenu } from '#app/frame/user-menu.tsx'
import { hasPage } from '#app/page-list.ts'
import { Icon } from '#parts/icon.tsx'
import { useSearchKeys } from '#parts/shortcuts.ts'
import { appTexts } from '#texts/app.ts'

export function TopBar() {
  const [path, navigate] = useLocation()
  useSearchKeys(useCallback(() => navigate('/search'), [navigate]))
  return (
    <header className="top">
      {hasPage('/search') && path !== '/search' && (
        <search className="search">
          <Link className="input search" href="/search">
            <Icon of={Search} />
            <span className="quiet clip">{appTexts.search()}</span>
            <kbd className="wide spread">Ctrl K</kbd>
          </Link>
        </search>
      )}
      <div className="end">
        <RunningWork />
        <UserMenu />
      </div>
    </header>
  )
}
