import { useQuery } from '@tanstack/react-query'
import { Library, type LucideIcon, Settings } from 'lucide-react'
import { Link, useLocation } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { ADMIN_SECTIONS, BROWSE_PLACES, isAt, type Place, useListPlaces } from '#app/frame/navigation.ts'
import { CarrelMark } from '#parts/carrel-mark.tsx'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { appTexts } from '#texts/app.ts'

/** More would push everything below them out of the window. */
const LIBRARIES_MAX = 30
const counts = new Intl.NumberFormat('en')

/** A rail of icons below 1024 px; phones have the bottom bar. */
export function SideBar() {
  const libraries = useQuery(librariesQuery).data ?? []
  const places = useListPlaces()
  const isAdmin = useMayDo('libraries-write')
  return (
    <nav className="side" aria-label={appTexts.main()}>
      <Link className="brand" href="/" aria-label={appTexts.name()}>
        <CarrelMark />
        <span>{appTexts.name()}</span>
      </Link>
      <ul>
        {places.map((place) => (
          <PlaceLink key={place.href} {...place} />
        ))}
      </ul>
      {libraries.length > 0 && (
        <div>
          <h2 className="group-title">{appTexts.libraries()}</h2>
          <ul>
            {libraries.slice(0, LIBRARIES_MAX).map(({ id, name, bookCount }) => (
              <SideLink key={id} href={`/libraries/${id}`} icon={Library} text={name} count={bookCount} isOfPerson />
            ))}
            {libraries.length > LIBRARIES_MAX && (
              <SideLink href="/libraries" icon={Library} text={appTexts.allLibraries()} count={libraries.length} isExact />
            )}
            {libraries.length > 1 && <SideLink href="/series" icon={Library} text={appTexts.allSeries()} isExact />}
          </ul>
        </div>
      )}
      {BROWSE_PLACES.length > 0 && (
        <div>
          <h2 className="group-title">{appTexts.browse()}</h2>
          <ul>
            {BROWSE_PLACES.map((place) => (
              <PlaceLink key={place.href} {...place} />
            ))}
          </ul>
        </div>
      )}
      {isAdmin && ADMIN_SECTIONS.length > 0 && (
        <ul className="foot">
          <SideLink href={ADMIN_SECTIONS[0]!.href} icon={Settings} text={appTexts.administration()} below="/admin" />
        </ul>
      )}
    </nav>
  )
}

const PlaceLink = ({ href, icon, text }: Place) => <SideLink href={href} icon={icon} text={text()} />

interface SideLinkProps {
  href: string
  icon: LucideIcon
  text: string
  count?: number
  /** The name was given by a person. */
  isOfPerson?: boolean
  /** Not current at addresses below: a series is of one library. */
  isExact?: boolean
  /** Current at all addresses that begin like this; default: those that begin like `href`. */
  below?: string
}

function SideLink({ href, icon, text, count, isOfPerson, isExact, below }: SideLinkProps) {
  const [path] = useLocation()
  const isCurrent = isExact ? path === href : isAt(path, below ?? href)
  return (
    <li>
      <Link className="side-link" href={href} title={text} aria-current={isCurrent ? 'page' : undefined}>
        <Icon of={icon} />
        <span className="clip" dir={isOfPerson ? 'auto' : undefined}>
          {text}
        </span>
        {count !== undefined && <span className="count">{counts.format(count)}</span>}
      </Link>
    </li>
  )
}
