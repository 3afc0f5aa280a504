import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useEffect, useState, useSyncExternalStore } from 'react'
import { Redirect, useLocation } from 'wouter'
import { followEvents } from '#api/events.ts'
import { Problem } from '#api/problem.ts'
import { meQuery, sessionEnd, setupQuery } from '#api/session.ts'
import { EndedSession } from '#app/sign-in/ended-session.tsx'
import { RegisterPage } from '#app/sign-in/register-page.tsx'
import { SignInPage } from '#app/sign-in/sign-in-page.tsx'
import { Failure } from '#parts/states.tsx'
import { useUnsent } from '#reader/send-unsent.ts'
import { appTexts } from '#texts/app.ts'

/** Who is signed in sees the pages; others the way to sign in, or to set the server up. */
export function Gate({ children }: { children: ReactNode }) {
  const me = useQuery(meQuery)
  const hasEnded = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.read)
  const [path] = useLocation()
  const isSignedIn = Boolean(me.data)
  const isRefused = me.error instanceof Problem && me.error.status === 401
  // A query without an answer is pending each time it is asked for again, as when somebody comes back to the window: the form of a stranger stays.
  const [isStranger, setIsStranger] = useState(false)
  if (isRefused && !isStranger) setIsStranger(true)
  useEffect(() => (isSignedIn ? followEvents() : undefined), [isSignedIn])
  useUnsent(me.data?.id ?? null)
  if (isSignedIn) {
    if (path === '/sign-in' || path === '/register') return <Redirect to="/" replace />
    return (
      <>
        {/* Another tab may have signed in somebody else, who sees nothing of what was shown or typed here. */}
        <Fragment key={me.data?.id}>{children}</Fragment>
        {hasEnded && <EndedSession />}
      </>
    )
  }
  // Signing out leaves nobody.
  if (isStranger || me.data === null) return <Stranger>{children}</Stranger>
  return me.error && <NoStart error={me.error} onRetry={() => void me.refetch()} />
}

/** Nobody is signed in. */
function Stranger({ children }: { children: ReactNode }) {
  const setup = useQuery(setupQuery)
  const [path] = useLocation()
  if (!setup.data) return setup.error && <NoStart error={setup.error} onRetry={() => void setup.refetch()} />
  if (setup.data.setupRequired) return path === '/setup' ? children : <Redirect to="/setup" replace />
  if (path === '/setup') return <Redirect to="/" replace />
  return path === '/register' && setup.data.registrationEnabled ? <RegisterPage /> : <SignInPage />
}

function NoStart({ error, onRetry }: { error: Error; onRetry: () => void }) {
  return (
    <main className="page">
      <Failure title={appTexts.noStart()} error={error} onRetry={onRetry} />
    </main>
  )
}
