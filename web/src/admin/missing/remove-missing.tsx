import { useMutation } from '@tanstack/react-query'
import { removeMissingBooks } from '#api/bulk.ts'
import { removeAllMissing } from '#api/missing-books.ts'
import type { BookRecord, LibraryRecord } from '#api/records.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Failure } from '#parts/states.tsx'
import { missingTexts } from '#texts/missing.ts'

/** Missing books whose records are to be removed. */
export type ToRemove =
  | { kind: 'some'; books: readonly BookRecord[] }
  | { kind: 'all'; libraries: readonly LibraryRecord[] /** At the time of the question. */; count: number }

/** Says what is lost, and removes it. */
export function RemoveMissing({ asked, onClose }: { asked: ToRemove; onClose: () => void }) {
  const removing = useMutation({
    mutationFn: async () => {
      if (asked.kind === 'all') return await removeAllMissing(asked.libraries.map(({ id }) => id))
      const ids = asked.books.map(({ id }) => id)
      await removeMissingBooks(ids, () => {}, new AbortController().signal)
      return ids.length
    },
    onSuccess: (count) => {
      say(missingTexts.removed({ count }))
      onClose()
    },
  })
  const [only] = asked.kind === 'some' && asked.books.length === 1 ? asked.books : []
  const count = asked.kind === 'all' ? asked.count : asked.books.length
  return (
    <Dialog
      title={only ? missingTexts.removeOneTitle({ title: only.title }) : missingTexts.removeTitle({ count })}
      action={missingTexts.remove()}
      isDangerous
      isBusy={removing.isPending}
      onAction={() => removing.mutate()}
      onClose={onClose}
    >
      {asked.kind === 'all' && <p>{missingTexts.allOf({ names: asked.libraries.map(({ name }) => name).join(', ') })}</p>}
      <p>{missingTexts.removeWords({ count })}</p>
      {removing.error && <Failure error={removing.error} title={missingTexts.remove()} />}
    </Dialog>
  )
}
