import { useQuery } from '@tanstack/react-query'
import { Fragment, useId } from 'react'
import { type LibraryPreview, previewQuery } from '#api/new-library.ts'
import type { PreviewRequest } from '#api/records.ts'
import { layoutTexts } from '#texts/layouts.ts'
import style from './library.module.css'
import { FoldedSettings } from './settings-fields.tsx'
import { type Config, SERIES_SETTINGS, SERIES_STRATEGIES, type SeriesStrategy } from './strategy-settings.ts'

interface StrategyFieldProps {
  /** The folder to compare the strategies for; null when none is chosen. */
  asked: PreviewRequest | null
  value: SeriesStrategy
  /** The settings of the strategy. */
  config: Config
  onChange: (value: SeriesStrategy, config: Config) => void
}

/** How files become series, and what each way would make of the folder. */
export function StrategyField({ asked, value, config, onChange }: StrategyFieldProps) {
  const id = useId()
  const preview = useQuery(previewQuery(asked)).data
  const isEmpty = preview?.totalFiles === 0
  return (
    <fieldset className="field">
      <legend className="label">{layoutTexts.seriesIs()}</legend>
      <div className={style['strategies']}>
        {SERIES_STRATEGIES.map((strategy) => (
          <Fragment key={strategy}>
            <label className="check">
              <input
                type="radio"
                name={id}
                checked={strategy === value}
                aria-labelledby={`${id}-${strategy}`}
                aria-describedby={`${id}-${strategy}-more`}
                onChange={() => onChange(strategy, {})}
              />
              <span className={style['strategy']}>
                <span className="line" id={`${id}-${strategy}`}>
                  {layoutTexts[strategy]()}
                  {preview && !isEmpty && strategy === preview.suggestedStrategy && (
                    <span className="badge good">{layoutTexts.suggested()}</span>
                  )}
                </span>
                <span className={style['strategy']} id={`${id}-${strategy}-more`}>
                  <span className="small quiet">{layoutTexts[`${strategy}Words`]()}</span>
                  {preview && !isEmpty && <span className="small">{outcomeWords(preview, strategy)}</span>}
                </span>
              </span>
            </label>
            {strategy === value && SERIES_SETTINGS[strategy] && (
              <div className={style['settings']}>
                <FoldedSettings settings={SERIES_SETTINGS[strategy]} config={config} onChange={(next) => onChange(strategy, next)} />
              </div>
            )}
          </Fragment>
        ))}
      </div>
    </fieldset>
  )
}

/** "48 series, 3 with one book". */
function outcomeWords({ alternatives }: LibraryPreview, strategy: SeriesStrategy): string {
  const outcome = alternatives.find((each) => each.strategy === strategy)
  if (!outcome) return ''
  const { series, single, mixed } = outcome
  if (series > 1 && single === series) return layoutTexts.eachSingle({ count: series })
  return [
    layoutTexts.wouldBe({ count: series }),
    ...(single > 0 ? [layoutTexts.single({ count: single })] : []),
    ...(mixed > 0 ? [layoutTexts.mixed({ count: mixed })] : []),
  ].join(', ')
}
