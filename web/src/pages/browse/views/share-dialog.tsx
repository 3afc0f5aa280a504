import { useRef } from 'react'
import { serverAddress } from '#api/client.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { TextField } from '#parts/controls.tsx'
import { viewTexts } from '#texts/views.ts'

/** Shows the address of a view and copies it. @param href relative to the server */
export function ShareDialog({ href, onClose }: { href: string; onClose: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const copy = async () => {
    input.current?.select()
    // Browsers have no clipboard over plain HTTP; the older command copies what is selected.
    const isCopied = await (navigator.clipboard as Clipboard | undefined)?.writeText(input.current?.value ?? '').then(
      () => true,
      () => false,
    )
    if (isCopied || document.execCommand('copy')) {
      say(viewTexts.copied())
      onClose()
    } else say(viewTexts.notCopied(), null, true)
  }
  return (
    <Dialog title={viewTexts.shareTitle()} action={viewTexts.copy()} onAction={() => void copy()} onClose={onClose}>
      <TextField
        ref={input}
        label={viewTexts.address()}
        hint={viewTexts.shareWords()}
        readOnly
        value={location.origin + serverAddress(href)}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
    </Dialog>
  )
}
