import { type ComponentType, lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import type { Address } from '#app/addresses.ts'
import { NoPage } from '#app/no-page.tsx'

/** Pages are loaded when they are opened; each module exports its page as default. Addresses without a page are places for later ones. */
const PAGES: Partial<Record<Address, ComponentType>> = {
  '/': lazy(() => import('#pages/home/home-page.tsx')),
  '/books/:bookId/read': lazy(() => import('#reader/read-page.tsx')),
}

export function Pages() {
  return (
    <Suspense>
      <Switch>
        {Object.entries(PAGES).map(([address, Page]) => (
          <Route key={address} path={address} component={Page} />
        ))}
        <Route>
          <NoPage />
        </Route>
      </Switch>
    </Suspense>
  )
}
