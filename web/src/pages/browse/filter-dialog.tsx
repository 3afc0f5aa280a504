import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ask } from '#api/client.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { ChoiceField } from '#parts/controls.tsx'
import { languageWords } from '#parts/formats.ts'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'
import type { BrowseAddress, BrowseKind } from './browse-address.ts'

interface FilterProps {
  kind: BrowseKind
  address: BrowseAddress
  onChange: (change: Partial<Record<keyof BrowseAddress, string | null>>) => void
  onClose: () => void
}

/** The longest lists of choices that a person can scan; more are reached from the pages of series. */
const VALUES_MAX = 500
const FORMATS = ['cbz', 'cbr', 'epub', 'pdf']

interface Named {
  name: string
}

const query = { pageSize: VALUES_MAX }
const namesOf = (answer: { data: Named[] }) => answer.data.map(({ name }) => name)

/** Filters by genre, tag, publisher, language and format. */
export function FilterDialog({ kind, address, onChange, onClose }: FilterProps) {
  const { genre, tag, publisher, language, format } = address
  const [chosen, setChosen] = useState({ genre, tag, publisher, language, format })
  const genres = useQuery({
    queryKey: ['genres'],
    queryFn: async ({ signal }) => namesOf(await ask(api.GET('/api/v1/genres', { params: { query }, signal }))),
  })
  const tags = useQuery({
    queryKey: ['tags'],
    queryFn: async ({ signal }) => namesOf(await ask(api.GET('/api/v1/tags', { params: { query }, signal }))),
  })
  const publishers = useQuery({
    queryKey: ['publishers'],
    queryFn: async ({ signal }) => texts(await ask(api.GET('/api/v1/publishers', { signal }))),
  })
  const languages = useQuery({
    queryKey: ['languages'],
    queryFn: async ({ signal }) => texts(await ask(api.GET('/api/v1/languages', { signal }))),
  })
  const fields = [
    { name: 'genre', values: genres.data },
    { name: 'tag', values: tags.data },
    { name: 'publisher', values: publishers.data },
    { name: 'language', values: languages.data },
    ...(kind === 'books' ? [{ name: 'format', values: FORMATS } as const] : []),
  ] as const
  const apply = () => {
    onChange(chosen)
    onClose()
  }
  return (
    <Dialog title={browseTexts.filterTitle()} action={browseTexts.apply()} onAction={apply} onClose={onClose} isWide>
      <div className={style['filters']}>
        {fields.map(({ name, values }) => (
          <ChoiceField
            key={name}
            label={browseTexts[name]()}
            value={chosen[name] ?? ''}
            options={choices(name, values ?? [], chosen[name])}
            onChange={(value) => setChosen({ ...chosen, [name]: value || null })}
          />
        ))}
      </div>
    </Dialog>
  )
}

function choices(field: string, values: readonly string[], chosen: string | null) {
  const all = chosen !== null && !values.includes(chosen) ? [chosen, ...values] : values
  const words = (value: string) => (field === 'language' ? languageWords(value) : field === 'format' ? value.toUpperCase() : value)
  return [{ value: '', text: browseTexts.any() }, ...all.map((value) => ({ value, text: words(value) }))]
}

/** Publishers and languages come as texts or as records with names. */
function texts(answer: unknown): string[] {
  const list = Array.isArray(answer) ? answer : ((answer as { data?: unknown[] }).data ?? [])
  return list.map((each) => (typeof each === 'string' ? each : (each as Named).name))
}
