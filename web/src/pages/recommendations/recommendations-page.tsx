import { useQuery } from '@tanstack/react-query'
import { CircleAlert, RefreshCw, Sparkles } from 'lucide-react'
import { Link, useLocation, useSearch } from 'wouter'
import { type MyPlugin, myPluginsQuery, recommendationsQuery, refreshRecommendations } from '#api/plugins.ts'
import { sayFailure } from '#parts/above/toasts.tsx'
import { Select } from '#parts/controls.tsx'
import { timeWords } from '#parts/formats.ts'
import { Icon } from '#parts/icon.tsx'
import { useMayDo } from '#parts/may-do.ts'
import { useTopOfPage } from '#parts/places.ts'
import { Empty, Failure } from '#parts/states.tsx'
import { recommendationTexts } from '#texts/recommendations.ts'
import { RecommendationItem } from './recommendation-item.tsx'
import style from './recommendations.module.css'
import { useDismissals } from './use-dismissals.ts'

/** What plugins recommend to the user. */
export default function RecommendationsPage() {
  const { data, error, refetch } = useQuery(myPluginsQuery)
  const from = new URLSearchParams(useSearch()).get('from')
  if (error) return <Failure error={error} onRetry={() => void refetch()} />
  if (!data) return null
  const providers = data.enabled.filter(({ enabled, capabilities }) => enabled && capabilities.userRecommendationProvider)
  const chosen = providers.find(({ pluginId }) => pluginId === from) ?? providers[0]
  const couldHave = [...data.enabled, ...data.available].some(({ capabilities }) => capabilities.userRecommendationProvider)
  if (chosen) return <Recommended key={chosen.pluginId} plugin={chosen} providers={providers} />
  return (
    <div className={style['page']}>
      <h1 className="page-title">{recommendationTexts.title()}</h1>
      {couldHave ? (
        <Empty icon={Sparkles} title={recommendationTexts.offTitle()} words={recommendationTexts.offWords()}>
          <Link className="btn main" href="/profile#plugins">
            {recommendationTexts.toProfile()}
          </Link>
        </Empty>
      ) : (
        <Empty icon={Sparkles} title={recommendationTexts.noPluginTitle()} words={recommendationTexts.noPluginWords()} />
      )}
    </div>
  )
}

interface RecommendedProps {
  plugin: MyPlugin
  /** All plugins that recommend. */
  providers: readonly MyPlugin[]
}

function Recommended({ plugin, providers }: RecommendedProps) {
  const { pluginId, pluginDisplayName: name, pause } = plugin
  const { data, error, refetch } = useQuery(recommendationsQuery(pluginId))
  const mayWrite = useMayDo('progress-write')
  const dismissals = useDismissals(pluginId)
  const [, navigate] = useLocation()
  useTopOfPage(data !== undefined)
  const isMaking = data?.taskStatus !== undefined
  const facts = [
    recommendationTexts.from({ plugin: name }),
    data?.generatedAt && recommendationTexts.made({ when: timeWords(data.generatedAt) }),
  ]
  return (
    <div className={style['page']}>
      <header className="head">
        <div>
          <h1 className="page-title">{recommendationTexts.title()}</h1>
          <p className="quiet" role="status">
            {isMaking && data?.cached ? recommendationTexts.refreshing() : facts.filter(Boolean).join(' · ')}
          </p>
        </div>
        <div className="end">
          {providers.length > 1 && (
            <Select
              isSoft
              label={recommendationTexts.source()}
              value={pluginId}
              options={providers.map((each) => ({ value: each.pluginId, text: each.pluginDisplayName }))}
              onChange={(value) => navigate(`/recommendations?from=${value}`, { replace: true })}
            />
          )}
          {mayWrite && pause === null && <RefreshButton pluginId={pluginId} isMaking={isMaking} />}
        </div>
      </header>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {pause !== null && <PausedNotice />}
      {data?.lastError && (
        <p className="notice warn">
          <Icon of={CircleAlert} />
          <span>{recommendationTexts.failed({ reason: data.lastError.message })}</span>
        </p>
      )}
      {data?.recommendations.length === 0 &&
        (isMaking ? (
          <p className="quiet">{recommendationTexts.first()}</p>
        ) : (
          <Empty icon={Sparkles} title={recommendationTexts.noneTitle()} words={recommendationTexts.noneWords()} />
        ))}
      <ul className={style['list']}>
        {data?.recommendations.map((each) => (
          <RecommendationItem key={each.externalId} recommendation={each} dismissals={mayWrite ? dismissals : null} />
        ))}
      </ul>
    </div>
  )
}

function RefreshButton({ pluginId, isMaking }: { pluginId: string; isMaking: boolean }) {
  return (
    <button
      type="button"
      className="btn"
      aria-busy={isMaking}
      disabled={isMaking}
      onClick={() => void refreshRecommendations(pluginId).catch(sayFailure)}
    >
      <Icon of={RefreshCw} />
      {recommendationTexts.refresh()}
    </button>
  )
}

function PausedNotice() {
  return (
    <div className="notice warn">
      <Icon of={CircleAlert} />
      <p>{recommendationTexts.paused()}</p>
      <div className="line">
        <Link className="btn" href="/profile#plugins">
          {recommendationTexts.toPlugins()}
        </Link>
      </div>
    </div>
  )
}
