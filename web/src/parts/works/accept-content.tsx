import { useMutation } from '@tanstack/react-query'
import { acceptContent } from '#api/book-errors.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Failure } from '#parts/states.tsx'
import { partTexts } from '#texts/parts.ts'

/** Asks before a file that has changed without its date counts as it is now. */
export function AcceptContent({ book: { id, title }, onClose }: { book: { id: string; title: string }; onClose: () => void }) {
  const accepting = useMutation({
    mutationFn: () => acceptContent(id),
    onSuccess: () => {
      say(partTexts.accepting({ title }))
      onClose()
    },
  })
  return (
    <Dialog
      title={partTexts.acceptTitle({ title })}
      action={partTexts.accept()}
      isBusy={accepting.isPending}
      onAction={() => accepting.mutate()}
      onClose={onClose}
    >
      <p>{partTexts.acceptWords()}</p>
      <p className="quiet">{partTexts.acceptInstead()}</p>
      {accepting.error && <Failure error={accepting.error} title={partTexts.accept()} />}
    </Dialog>
  )
}
