import type { LayoutEdit, LibraryRecord } from '#api/records.ts'
import { ChoiceField } from '#parts/controls.tsx'
import { FoldedSettings } from '#parts/library/settings-fields.tsx'
import { SERIES_SETTINGS, SERIES_STRATEGIES } from '#parts/library/strategy-settings.ts'
import { layoutTexts } from '#texts/layouts.ts'
import { LayoutChange } from './layout-change.tsx'
import { formOf, type LibraryForm } from './library-form.ts'

interface LayoutFieldsProps {
  library: LibraryRecord
  form: LibraryForm
  /** The change of the layout that was entered; null while there is none, or something of it is missing. */
  edit: LayoutEdit | null
  onChange: (change: Partial<LibraryForm>) => void
}

/** How books become series; another way, or other settings of it, show what they move. */
export function LayoutFields({ library, form: { seriesStrategy, seriesConfig }, edit, onChange }: LayoutFieldsProps) {
  const before = formOf(library)
  return (
    <>
      <ChoiceField
        label={layoutTexts.seriesIs()}
        value={seriesStrategy}
        options={SERIES_STRATEGIES.map((each) => ({ value: each, text: layoutTexts[each]() }))}
        hint={layoutTexts[`${seriesStrategy}Words`]()}
        onChange={(next) => onChange({ seriesStrategy: next, seriesConfig: next === before.seriesStrategy ? before.seriesConfig : {} })}
      />
      <FoldedSettings
        key={seriesStrategy}
        settings={SERIES_SETTINGS[seriesStrategy]}
        config={seriesConfig}
        onChange={(config) => onChange({ seriesConfig: config })}
      />
      {edit && <LayoutChange libraryId={library.id} edit={edit} hasExamples />}
    </>
  )
}
