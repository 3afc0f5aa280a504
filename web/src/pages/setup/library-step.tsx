import { useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useLocation } from 'wouter'
import { createLibrary, type NewLibrary } from '#api/new-library.ts'
import { ChoiceButtons } from '#parts/choice-buttons.tsx'
import { TextField } from '#parts/controls.tsx'
import { FolderPicker } from '#parts/library/folder-picker.tsx'
import { LibraryPreview } from '#parts/library/library-preview.tsx'
import { Failure } from '#parts/states.tsx'
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

export function LibraryStep() {
  const client = useQueryClient()
  const [, navigate] = useLocation()
  const [name, setName] = useState<string | null>(null)
  const [folder, setFolder] = useState<string | null>(null)
  const [kind, setKind] = useState<Kind>('both')
  const [direction, setDirection] = useState<Direction>('ltr')
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  // Until something is typed, the library is named after its folder.
  const shownName = name ?? folder?.split('/').at(-1) ?? ''
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (folder === null) return setError(new Error(setupTexts.folderMissing()))
    setIsBusy(true)
    const library: NewLibrary = { name: shownName.trim(), path: folder, allowedFormats: FORMATS[kind], defaultReadingDirection: direction }
    try {
      const { id } = await createLibrary(library)
      void client.invalidateQueries({ queryKey: ['libraries'] })
      navigate(`/setup?library=${id}`)
    } catch (reason) {
      setError(reason as Error)
      setIsBusy(false)
    }
  }
  return (
    <main className={style['make']}>
      <form className={style['form']} onSubmit={submit}>
        <div>
          <h1 className="page-title">{setupTexts.firstLibrary()}</h1>
          <p className="quiet">{setupTexts.firstLibraryWords()}</p>
        </div>
        <FolderPicker value={folder} onChange={setFolder} />
        <TextField
          label={setupTexts.libraryName()}
          value={shownName}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          maxLength={200}
          required
        />
        <ChoiceButtons label={setupTexts.kind()} options={KINDS} value={kind} onChange={setKind} />
        <ChoiceButtons
          label={setupTexts.direction()}
          options={DIRECTIONS}
          value={direction}
          onChange={setDirection}
          hint={setupTexts.directionHint()}
        />
        {error && <Failure error={error} title={setupTexts.add()} />}
        <div className={`line ${style['actions']}`}>
          <button type="button" className="btn plain" onClick={() => navigate('/')}>
            {setupTexts.later()}
          </button>
          <button type="submit" className="btn main big" aria-busy={isBusy}>
            {setupTexts.add()}
          </button>
        </div>
      </form>
      <LibraryPreview folder={folder} />
    </main>
  )
}
