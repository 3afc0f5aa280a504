import { type ReactNode, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { BottomBar } from '#app/frame/bottom-bar.tsx'
import { ConnectionLine } from '#app/frame/connection-line.tsx'
import { SideBar } from '#app/frame/side-bar.tsx'
import { TopBar } from '#app/frame/top-bar.tsx'
import { Toasts } from '#parts/above/toasts.tsx'
import { appTexts } from '#texts/app.ts'

/** What stands around every page but the readers. */
export function Frame({ children }: { children: ReactNode }) {
  const page = useRef<HTMLElement>(null)
  const [path] = useLocation()
  const shownPath = useRef(path)
  // The focus follows to the new page, where a screen reader begins; not at the first page, whose document begins by itself.
  useEffect(() => {
    if (shownPath.current !== path) page.current?.focus({ preventScroll: true })
    shownPath.current = path
  }, [path])
  return (
    <div className="frame">
      {/* A link to #page would lead to the address of the server, because of the base of the document. */}
      <button type="button" className="skip" onClick={() => page.current?.focus()}>
        {appTexts.skip()}
      </button>
      <SideBar />
      <TopBar />
      <main className="page" ref={page} tabIndex={-1}>
        <ConnectionLine />
        {children}
      </main>
      <BottomBar />
      <Toasts />
    </div>
  )
}
