import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { TargetList } from '#api/bulk.ts'
import { collectionsQuery, readListsQuery } from '#api/lists.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { ChoiceField, TextField } from '#parts/controls.tsx'
import { Failure } from '#parts/states.tsx'
import { selectionTexts } from '#texts/selection.ts'

interface AddToListProps {
  /** Books go into read lists, series into collections. */
  isBooks: boolean
  onAdd: (to: TargetList, name: string) => void
  onClose: () => void
}

const NEW = ''
/** The longest name that the API takes, in characters. */
const NAME_MAX = 200

/** Asks for the list that everything selected is added to. */
export function AddToListDialog({ isBooks, onAdd, onClose }: AddToListProps) {
  const { data, error, refetch } = useQuery<{ data: { id: string; name: string }[] }, Error>(
    (isBooks ? readListsQuery : collectionsQuery) as never,
  )
  const [chosen, setChosen] = useState<string | null>(null)
  const [name, setName] = useState('')
  const [isMissing, setIsMissing] = useState(false)
  const lists = data?.data ?? []
  // The first answer chooses: lists that others make meanwhile change neither what is chosen nor the name that is typed.
  if (data && chosen === null) setChosen(lists[0]?.id ?? NEW)
  const listId = lists.find(({ id }) => id === chosen)?.id ?? NEW
  const add = () => {
    const list = lists.find(({ id }) => id === listId)
    if (list) onAdd({ id: list.id }, list.name)
    else if (name.trim() === '') setIsMissing(true)
    else onAdd({ name: name.trim() }, name.trim())
  }
  return (
    <Dialog
      title={isBooks ? selectionTexts.addToReadList() : selectionTexts.addToCollection()}
      action={selectionTexts.add()}
      isBusy={!data}
      onAction={add}
      onClose={onClose}
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {lists.length > 0 && (
        <ChoiceField
          label={selectionTexts.list()}
          value={listId}
          options={[
            ...lists.map((list) => ({ value: list.id, text: list.name })),
            { value: NEW, text: isBooks ? selectionTexts.newReadList() : selectionTexts.newCollection() },
          ]}
          onChange={setChosen}
        />
      )}
      {data && listId === NEW && (
        <TextField
          label={selectionTexts.name()}
          value={name}
          maxLength={NAME_MAX}
          dir="auto"
          error={isMissing && name.trim() === '' ? selectionTexts.nameMissing() : null}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
      )}
    </Dialog>
  )
}
