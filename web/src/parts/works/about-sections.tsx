import { ExternalLink } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import { personHref } from '#parts/works/hero.tsx'
import { initials } from '#parts/works/initials.ts'
import { type Person, roleWords } from '#parts/works/people.ts'
import { workTexts } from '#texts/works.ts'
import style from './about-sections.module.css'

/** Sections beside each other, as many as fit. */
export const AboutSections = ({ children }: { children: ReactNode }) => <div className={style['three']}>{children}</div>

export function AboutSection({ title, children }: { title: string; children: ReactNode }) {
  const id = useId()
  return (
    <section className="stack" aria-labelledby={id}>
      <h2 className="section-title" id={id}>
        {title}
      </h2>
      {children}
    </section>
  )
}

export function People({ people }: { people: readonly Person[] }) {
  if (people.length === 0) return null
  return (
    <AboutSection title={workTexts.people()}>
      <ul className="rows">
        {people.map((person) => (
          <li className={`row ${style['person']}`} key={person.name}>
            <span className={`avatar ${style['soft']}`} aria-hidden="true">
              {initials(person.name)}
            </span>
            <span className="words">
              <Link className="name" href={personHref(person.name)}>
                <bdi>{person.name}</bdi>
              </Link>
              <span className="sub">{roleWords(person)}</span>
            </span>
          </li>
        ))}
      </ul>
    </AboutSection>
  )
}

/** Genres and tags, each leading to what else has it. @param kind which list they lead to */
export function Tags({ genres, tags, kind }: { genres: readonly string[]; tags: readonly string[]; kind: 'series' | 'books' }) {
  const all = [...genres.map((name) => ({ name, field: 'genre' })), ...tags.map((name) => ({ name, field: 'tag' }))]
  if (all.length === 0) return null
  return (
    <div className="chips">
      {all.map(({ name, field }) => (
        <Link className={`chip ${style['tag']}`} key={`${field} ${name}`} href={`/${kind}?${field}=${encodeURIComponent(name)}`}>
          <bdi className="clip">{name}</bdi>
        </Link>
      ))}
    </div>
  )
}

export interface NamedLink {
  name: string
  url: string
}

/** Links to other sites. Those that are no web address are left out: a file may say anything. */
export function OtherSites({ links }: { links: readonly NamedLink[] }) {
  const safe = links.flatMap(({ name, url }) => {
    const host = webHost(url)
    return host === null ? [] : [{ name, url, host }]
  })
  if (safe.length === 0) return null
  return (
    <>
      <h3 className="group-title">{workTexts.links()}</h3>
      <ul className="rows">
        {safe.map(({ name, url, host }) => (
          <li className="row" key={url}>
            <a className="words" href={url} target="_blank" rel="noopener noreferrer">
              <bdi>{name}</bdi>
              {host !== name && <span className="sub">{host}</span>}
            </a>
            <Icon of={ExternalLink} />
          </li>
        ))}
      </ul>
    </>
  )
}

function webHost(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.host : null
}
