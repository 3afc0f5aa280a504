import { ExternalLink, Undo2, X } from 'lucide-react'
import { Link } from 'wouter'
import type { RecommendationRecord } from '#api/plugins.ts'
import { Icon } from '#parts/icon.tsx'
import { Cover } from '#parts/works/cover.tsx'
import { recommendationTexts } from '#texts/recommendations.ts'
import { workTexts } from '#texts/works.ts'
import style from './recommendations.module.css'
import type { Dismissals } from './use-dismissals.ts'

/** Covers of the list, in CSS pixels. */
const COVER_WIDTH = 80
const GENRES_MAX = 3

interface ItemProps {
  recommendation: RecommendationRecord
  /** Null for users who may not dismiss. */
  dismissals: Dismissals | null
}

/** A work with the reason why somebody may like it. */
export function RecommendationItem({ recommendation, dismissals }: ItemProps) {
  const { externalId, title, reason, basedOn, summary } = recommendation
  if (dismissals?.waiting.has(externalId))
    return (
      <li className={style['gone']}>
        <span>{recommendationTexts.dismissed({ title })}</span>
        {/* The button that had the focus is gone. */}
        {/* biome-ignore lint/a11y/noAutofocus: the person pressed the button that stood here */}
        <button type="button" className="btn" autoFocus onClick={() => dismissals.undo(externalId)}>
          <Icon of={Undo2} flips />
          {recommendationTexts.undo()}
        </button>
      </li>
    )
  return (
    <li className={style['item']}>
      <Cover path={coverOf(recommendation)} title={title} width={COVER_WIDTH} />
      <div className={style['words']}>
        <h2 className={style['name']}>
          <Name recommendation={recommendation} />
        </h2>
        <p className="small quiet">{factsOf(recommendation).join(' · ')}</p>
        <p className={style['reason']} dir="auto">
          {reason}
        </p>
        {/* Most reasons name what they are based on. */}
        {basedOn.some((name) => !reason.includes(name)) && (
          <p className="small quiet">
            {recommendationTexts.basedOn()} <bdi>{basedOn.join(', ')}</bdi>
          </p>
        )}
        {summary && (
          <p className="small quiet clip-3" dir="auto">
            {summary}
          </p>
        )}
      </div>
      {dismissals && (
        <button
          type="button"
          className="icon-btn"
          aria-label={recommendationTexts.dismiss({ title })}
          title={recommendationTexts.dismiss({ title })}
          onClick={() => dismissals.dismiss(externalId)}
        >
          <Icon of={X} />
        </button>
      )}
    </li>
  )
}

/** Of the series here, else the picture that the server fetched; it has no other addresses. */
function coverOf({ serviceSeriesId, coverUrl }: RecommendationRecord): string | null {
  return serviceSeriesId ? `api/v1/series/${serviceSeriesId}/thumbnail` : (coverUrl ?? null)
}

function Name({ recommendation: { title, serviceSeriesId, externalUrl } }: { recommendation: RecommendationRecord }) {
  if (serviceSeriesId)
    return (
      <Link className="clip-2" href={`/series/${serviceSeriesId}`}>
        <bdi>{title}</bdi>
      </Link>
    )
  const url = externalUrl && URL.canParse(externalUrl) ? new URL(externalUrl) : null
  if (url?.protocol !== 'https:' && url?.protocol !== 'http:') return <bdi>{title}</bdi>
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer">
      <bdi>{title}</bdi> <Icon of={ExternalLink} />
      <span className="small quiet">{recommendationTexts.at({ host: url.host })}</span>
    </a>
  )
}

function factsOf({ serviceSeriesId, startYear, status, genres }: RecommendationRecord): string[] {
  return [
    serviceSeriesId ? recommendationTexts.inLibrary() : recommendationTexts.notInLibrary(),
    startYear ? String(startYear) : '',
    status && status !== 'unknown' ? workTexts[status]() : '',
    genres.slice(0, GENRES_MAX).join(', '),
  ].filter((fact) => fact !== '')
}
