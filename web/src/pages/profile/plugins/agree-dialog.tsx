import { useMutation } from '@tanstack/react-query'
import { agreeToPlugin } from '#api/plugins.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { Failure } from '#parts/states.tsx'
import { pluginTexts } from '#texts/plugins.ts'
import { ConsentList } from './consent-list.tsx'

interface AgreeProps {
  pluginId: string
  name: string
  consent: { sha256: string; lines: readonly string[] }
  /** From what was agreed to before; empty the first time. */
  differenceLines: readonly string[]
  onClose: () => void
}

/** What a plugin asks for, before it works for the user. */
export function AgreeDialog({ pluginId, name, consent, differenceLines, onClose }: AgreeProps) {
  const agreeing = useMutation({
    mutationFn: () => agreeToPlugin(pluginId, consent.sha256),
    onSuccess: () => {
      say(pluginTexts.agreed({ name }))
      onClose()
    },
  })
  const isChanged = differenceLines.length > 0
  return (
    <Dialog
      title={isChanged ? pluginTexts.changedTitle({ name }) : pluginTexts.agreeTitle({ name })}
      action={pluginTexts.agree()}
      isWide
      isBusy={agreeing.isPending}
      onAction={() => agreeing.mutate()}
      onClose={onClose}
    >
      {isChanged && (
        <>
          <p>{pluginTexts.changedWords()}</p>
          <ConsentList lines={differenceLines} />
        </>
      )}
      <p>{isChanged ? pluginTexts.now() : pluginTexts.agreeWords()}</p>
      <ConsentList lines={consent.lines} />
      {agreeing.error && <Failure error={agreeing.error} title={pluginTexts.agree()} />}
    </Dialog>
  )
}
