import { useQuery } from '@tanstack/react-query'
import { Monitor } from 'lucide-react'
import { endSession, sessionsQuery } from '#api/profile.ts'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { Failure } from '#parts/states.tsx'
import { profileTexts } from '#texts/profile.ts'
import style from './profile.module.css'

/** Where the user is signed in; all but this session can be ended here. */
export function Sessions() {
  const { data, error, refetch } = useQuery(sessionsQuery)
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  return (
    <ul className={`rows ${style['rows']}`}>
      {data?.data.map(({ id, userAgent, lastUsedAt, isCurrent }) => {
        const name = userAgent ? browserWords(userAgent) : profileTexts.unknownBrowser()
        return (
          <li key={id} className="row">
            <Icon of={Monitor} />
            <span className="words" title={userAgent ?? undefined}>
              <bdi className="clip">{name}</bdi>
              <span className="sub">{isCurrent ? profileTexts.thisOne() : profileTexts.lastUsed({ when: timeWords(lastUsedAt) })}</span>
            </span>
            {!isCurrent && (
              <button
                type="button"
                className="btn plain"
                aria-label={profileTexts.endNamed({ name })}
                onClick={() => void endSession(id).then(() => say(profileTexts.ended()), sayFailure)}
              >
                {profileTexts.end()}
              </button>
            )}
          </li>
        )
      })}
    </ul>
  )
}

const BROWSERS = ['Edg', 'OPR', 'Firefox', 'Chrome', 'Safari']
const NAMES: Record<string, string> = { Edg: 'Edge', OPR: 'Opera' }
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Macintosh', 'CrOS', 'Linux']

/** "Firefox, Windows" for what browsers send; what apps send as it is. */
function browserWords(userAgent: string): string {
  const browser = BROWSERS.find((name) => userAgent.includes(`${name}/`))
  const system = SYSTEMS.find((name) => userAgent.includes(name))
  return browser && system ? `${NAMES[browser] ?? browser}, ${system}` : userAgent
}
