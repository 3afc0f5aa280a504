import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useEffect, useSyncExternalStore } from 'react'
import { Redirect, useLocation } from 'wouter'
import { followEvents } from '#api/events.ts'
import { Problem } from '#api/problem.ts'
import { meQuery, sessionEnd, setupQuery } from '#api/session.ts'
import { EndedSession } from '#app/sign-in/ended-session.tsx'
import { RegisterPage } from '#app/sign-in/register-page.tsx'
import { SignInPage } from '#app/sign-in/sign-in-page.tsx'
import { Failure } from '#parts/states.tsx'
import { appTexts } from '#texts/app.ts'

/** Who is signed in sees the pages; others the way to sign in, or to set the server up. */
export function Gate({ children }: { children: ReactNode }) {
  const me = useQuery(meQuery)
  const hasEnded = useSyncExternalStore(sessionEnd.subscribe, sessionEnd.read)
  const [path] = useLocation()
  const isSignedIn = Boolean(me.data)
  useEffect(() => (isSignedIn ? followEvents() : undefined), [isSignedIn])
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
  if (me.error && !(me.error instanceof Problem && me.error.status === 401))
    return <NoStart error={me.error} onRetry={() => void me.refetch()} />
  return me.isPending ? null : <Stranger>{children}</Stranger>
}

/** Nobody is signed in. */
function Stranger({ children }: { children: ReactNode }) {
  const setup = useQuery(setupQuery)
  const [path] = useLocation()
  if (setup.error) return <NoStart error={setup.error} onRetry={() => void setup.refetch()} />
  if (!setup.data) return null
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
