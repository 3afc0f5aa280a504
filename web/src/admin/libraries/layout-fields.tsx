import type { LibraryRecord } from '#api/records.ts'
import { ChoiceField } from '#parts/controls.tsx'
import { SERIES_STRATEGIES, withChosen } from '#parts/library/strategies.ts'
import { layoutTexts } from '#texts/layouts.ts'
import { LayoutChange } from './layout-change.tsx'

/** How books become series and get titles and numbers. */
export type Layout = Pick<LibraryRecord, 'seriesStrategy' | 'bookStrategy' | 'numberStrategy'>

const NUMBER_STRATEGIES: readonly Layout['numberStrategy'][] = ['smart', 'metadata', 'filename', 'file_order']
const BOOK_STRATEGIES: readonly Layout['bookStrategy'][] = ['metadata_first', 'smart', 'filename', 'series_name']

interface LayoutFieldsProps {
  library: LibraryRecord
  value: Layout
  onChange: (value: Layout) => void
}

/** The strategies of a library; another one for series shows what it moves. */
export function LayoutFields({ library, value, onChange }: LayoutFieldsProps) {
  const { seriesStrategy, numberStrategy, bookStrategy } = value
  const hintOf = (words: string, isChanged: boolean) => (isChanged ? `${words} ${layoutTexts.givenAgain()}` : words)
  return (
    <>
      <ChoiceField
        label={layoutTexts.seriesIs()}
        value={seriesStrategy}
        options={withChosen(SERIES_STRATEGIES, library.seriesStrategy).map((each) => ({ value: each, text: layoutTexts[each]() }))}
        hint={layoutTexts[`${seriesStrategy}Words`]()}
        onChange={(next) => onChange({ ...value, seriesStrategy: next })}
      />
      {seriesStrategy !== library.seriesStrategy && <LayoutChange libraryId={library.id} strategy={seriesStrategy} hasExamples />}
      <ChoiceField
        label={layoutTexts.numberStrategy()}
        value={numberStrategy}
        options={NUMBER_STRATEGIES.map((each) => ({ value: each, text: layoutTexts[`${each}_number`]() }))}
        hint={hintOf(layoutTexts[`${numberStrategy}_numberWords`](), numberStrategy !== library.numberStrategy)}
        onChange={(next) => onChange({ ...value, numberStrategy: next })}
      />
      <ChoiceField
        label={layoutTexts.bookStrategy()}
        value={bookStrategy}
        options={withChosen(BOOK_STRATEGIES, library.bookStrategy).map((each) => ({ value: each, text: layoutTexts[`${each}_title`]() }))}
        hint={hintOf(layoutTexts[`${bookStrategy}_titleWords`](), bookStrategy !== library.bookStrategy)}
        onChange={(next) => onChange({ ...value, bookStrategy: next })}
      />
    </>
  )
}
