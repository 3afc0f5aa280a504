import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { createLibrary } from '#api/new-library.ts'
import { ChoiceButtons } from '#parts/choice-buttons.tsx'
import { TextField } from '#parts/controls.tsx'
import { FolderPicker } from '#parts/library/folder-picker.tsx'
import { LibraryPreview } from '#parts/library/library-preview.tsx'
import { previewRequestOf } from '#parts/library/preview-request.ts'
import { StrategyField } from '#parts/library/strategy-field.tsx'
import { type Config, configOf, SERIES_SETTINGS, type SeriesStrategy } from '#parts/library/strategy-settings.ts'
import { Failure } from '#parts/states.tsx'
import { useRested } from '#parts/use-rested.ts'
import { setupTexts } from '#texts/setup.ts'
import style from './setup.module.css'

type Kind = 'comics' | 'books' | 'both'
type Direction = 'ltr' | 'rtl' | 'ttb'

/** PDFs are both. */
const FORMATS: Record<Kind, string[] | null> = { comics: ['cbz', 'cbr', 'pdf'], books: ['epub', 'pdf'], both: null }
const KINDS = [
  { value: 'comics', text: setupTexts.comics() },
  { value: 'books', text: setupTexts.books() },
  { value: 'both', text: setupTexts.both() },
] as const
const DIRECTIONS = [
  { value: 'ltr', text: setupTexts.ltr() },
  { value: 'rtl', text: setupTexts.rtl() },
  { value: 'ttb', text: setupTexts.down() },
] as const

/** What is entered, and what adds it. */
function useNewLibrary() {
  const client = useQueryClient()
  const [, navigate] = useLocation()
  const [name, setName] = useState<string | null>(null)
  const [folder, setFolder] = useState<string | null>(null)
  const [kind, setKind] = useState<Kind>('both')
  const [layout, setLayout] = useState<{ strategy: SeriesStrategy; config: Config }>({ strategy: 'auto', config: {} })
  const [direction, setDirection] = useState<Direction>('ltr')
  // Until something is typed, the library is named after its folder.
  const shownName = name ?? folder?.split('/').at(-1) ?? ''
  const adding = useMutation({
    mutationFn: async () => {
      if (folder === null) throw new Error(setupTexts.folderMissing())
      return await createLibrary({
        name: shownName.trim(),
        path: folder,
        allowedFormats: FORMATS[kind],
        seriesStrategy: layout.strategy,
        seriesConfig: configOf(SERIES_SETTINGS[layout.strategy], layout.config),
        defaultReadingDirection: direction,
      })
    },
    onSuccess: ({ id }) => {
      void client.invalidateQueries({ queryKey: ['libraries'] })
      navigate(`/setup?library=${id}`)
    },
  })
  const { strategy: seriesStrategy, config: seriesConfig } = layout
  const preview = useRested(previewRequestOf(folder, { formats: FORMATS[kind], excluded: '', seriesStrategy, seriesConfig }))
  const fields = { name: shownName, setName, folder, setFolder, kind, setKind, layout, setLayout, direction, setDirection }
  return { ...fields, preview, adding, leave: () => navigate('/') }
}

export function LibraryStep() {
  const hasLibraries = (useQuery(librariesQuery).data?.length ?? 0) > 0
  const { name, setName, folder, setFolder, kind, setKind, direction, setDirection, adding, leave, ...found } = useNewLibrary()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    adding.mutate()
  }
  return (
    <main className={style['make']}>
      <form className={style['form']} onSubmit={submit}>
        <div>
          <h1 className="page-title">{hasLibraries ? setupTexts.nextLibrary() : setupTexts.firstLibrary()}</h1>
          <p className="quiet">{setupTexts.firstLibraryWords()}</p>
        </div>
        <FolderPicker value={folder} onChange={setFolder} />
        <TextField
          label={setupTexts.libraryName()}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          maxLength={200}
          required
        />
        <ChoiceButtons label={setupTexts.kind()} options={KINDS} value={kind} onChange={setKind} />
        <StrategyField
          asked={found.preview.asked}
          value={found.layout.strategy}
          config={found.layout.config}
          onChange={(strategy, config) => found.setLayout({ strategy, config })}
        />
        <ChoiceButtons
          label={setupTexts.direction()}
          options={DIRECTIONS}
          value={direction}
          onChange={setDirection}
          hint={setupTexts.directionHint()}
        />
        {adding.error && <Failure error={adding.error} title={setupTexts.add()} />}
        <div className={`line ${style['actions']}`}>
          <button type="button" className="btn plain" onClick={leave}>
            {setupTexts.later()}
          </button>
          <button type="submit" className="btn main big" aria-busy={adding.isPending}>
            {setupTexts.add()}
          </button>
        </div>
      </form>
      <LibraryPreview {...found.preview} />
    </main>
  )
}
