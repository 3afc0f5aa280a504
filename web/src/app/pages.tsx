import { type ComponentType, Suspense } from 'react'
import { matchRoute, Route, Switch, useLocation, useRouter } from 'wouter'
import type { Address } from '#app/addresses.ts'
import { BrokenPage } from '#app/broken-page.tsx'
import { Frame } from '#app/frame/frame.tsx'
import { NoPage } from '#app/no-page.tsx'
import { ALONE, PAGES } from '#app/page-list.ts'

const LIST = Object.entries(PAGES) as [Address, ComponentType][]

export function Pages() {
  const { parser } = useRouter()
  const [path] = useLocation()
  const isAlone = [...ALONE].some((address) => matchRoute(parser, address, path)[0])
  return isAlone ? (
    <Current path={path} />
  ) : (
    <Frame>
      <Current path={path} />
    </Frame>
  )
}

/** The page of the address. One that breaks leaves the frame, and is forgotten at the next address. */
function Current({ path }: { path: string }) {
  return (
    <BrokenPage key={path}>
      <Suspense>
        <Switch>
          {LIST.map(([address, Page]) => (
            <Route key={address} path={address} component={Page} />
          ))}
          <Route component={NoPage} />
        </Switch>
      </Suspense>
    </BrokenPage>
  )
}
