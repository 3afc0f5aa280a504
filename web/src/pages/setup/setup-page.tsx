import { useQuery } from '@tanstack/react-query'
import { Check } from 'lucide-react'
import type { ReactNode } from 'react'
import { Redirect, useSearchParams } from 'wouter'
import { meQuery } from '#api/session.ts'
import { CarrelMark } from '#parts/carrel-mark.tsx'
import { Icon } from '#parts/icon.tsx'
import { appTexts } from '#texts/app.ts'
import { setupTexts } from '#texts/setup.ts'
import { AdministratorStep } from './administrator-step.tsx'
import { LibraryStep } from './library-step.tsx'
import { ScanStep } from './scan-step.tsx'
import style from './setup.module.css'

/** The first run. Its third step has the library in its address, so that it can be left and found again. */
export default function SetupPage() {
  const me = useQuery({ ...meQuery, enabled: false }).data
  const [search] = useSearchParams()
  const libraryId = search.get('library')
  if (!me)
    return (
      <Steps at={0}>
        <AdministratorStep />
      </Steps>
    )
  if (!me.permissions.includes('libraries-write')) return <Redirect to="/" replace />
  return <Steps at={libraryId ? 2 : 1}>{libraryId ? <ScanStep libraryId={libraryId} /> : <LibraryStep />}</Steps>
}

const NAMES = [setupTexts.administrator, setupTexts.library, setupTexts.firstScan]

function Steps({ at, children }: { at: number; children: ReactNode }) {
  return (
    <div className={style['setup']}>
      <header>
        <span className={style['brand']}>
          <CarrelMark />
          <span>{appTexts.name()}</span>
        </span>
        <ol className={style['steps']} aria-label={setupTexts.steps()}>
          {NAMES.map((name, index) => (
            <li key={name()} className={index < at ? style['done'] : ''} aria-current={index === at ? 'step' : undefined}>
              <i>{index < at ? <Icon of={Check} /> : index + 1}</i>
              <span>{name()}</span>
            </li>
          ))}
        </ol>
      </header>
      {children}
    </div>
  )
}
