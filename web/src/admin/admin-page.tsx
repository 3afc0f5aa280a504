import { Lock } from 'lucide-react'
import { Link, useParams } from 'wouter'
import { useMayDo } from '#parts/may-do.ts'
import { Empty } from '#parts/states.tsx'
import { adminTexts } from '#texts/admin.ts'
import { missingTexts } from '#texts/missing.ts'
import style from './admin.module.css'
import { ErrorsSection } from './errors/errors-section.tsx'
import { LibrariesSection } from './libraries/libraries-section.tsx'
import { MissingSection } from './missing/missing-section.tsx'
import { SharingTagsSection } from './sharing/sharing-tags-section.tsx'
import { UsersSection } from './users/users-section.tsx'

/** The pages for administrators, each with the permission that it needs. */
export default function AdminPage() {
  const { section = 'libraries' } = useParams<{ section?: string }>()
  const mayLibraries = useMayDo('libraries-write')
  const mayBooks = useMayDo('books-write')
  const mayTasks = useMayDo('tasks-read')
  const mayUsers = useMayDo('users-read')
  const mayAll = useMayDo('system-admin')
  const sections = [
    { id: 'libraries', text: adminTexts.libraries(), mayDo: mayLibraries, content: <LibrariesSection /> },
    { id: 'errors', text: adminTexts.errors(), mayDo: mayBooks, content: <ErrorsSection /> },
    { id: 'missing', text: missingTexts.missing(), mayDo: mayBooks, content: <MissingSection /> },
    { id: 'users', text: adminTexts.users(), mayDo: mayUsers, content: <UsersSection /> },
    { id: 'sharing-tags', text: adminTexts.sharingTags(), mayDo: mayAll, content: <SharingTagsSection /> },
  ].filter(({ mayDo }) => mayDo)
  const shown = sections.find(({ id }) => id === section)
  return (
    <div className={style['page']}>
      <h1 className="page-title">{adminTexts.administration()}</h1>
      <nav ref={showCurrent} className="tabs" aria-label={adminTexts.administration()}>
        {sections.map(({ id, text }) => (
          <Link key={id} href={`/admin/${id}`} aria-current={id === section ? 'page' : undefined}>
            {text}
          </Link>
        ))}
        {mayTasks && <Link href="/work">{adminTexts.work()}</Link>}
      </nav>
      {shown ? shown.content : <Empty icon={Lock} title={adminTexts.noRight()} words={adminTexts.noRightWords()} />}
    </div>
  )
}

/** On phones the tabs scroll sideways. */
function showCurrent(tabs: HTMLElement | null): void {
  const current = tabs?.querySelector('[aria-current]')
  if (tabs && current instanceof HTMLElement) tabs.scrollLeft = current.offsetLeft - (tabs.clientWidth - current.offsetWidth) / 2
}
