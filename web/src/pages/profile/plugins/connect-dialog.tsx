import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { connectPlugin, type MyPlugin } from '#api/plugins.ts'
import { Dialog } from '#parts/above/dialog.tsx'
import { say } from '#parts/above/toasts.tsx'
import { TextField } from '#parts/controls.tsx'
import { PasswordField } from '#parts/password-field.tsx'
import { Failure } from '#parts/states.tsx'
import { pluginTexts } from '#texts/plugins.ts'

/** Takes what a plugin needs to sign in at its service as the user. */
export function ConnectDialog({ plugin, onClose }: { plugin: MyPlugin; onClose: () => void }) {
  const { pluginId, pluginDisplayName: name, credentialType, credentialsHost } = plugin
  const isBasic = credentialType === 'basic'
  const [username, setUsername] = useState('')
  const [secret, setSecret] = useState('')
  // The server refuses it if they would be sent somewhere else meanwhile.
  const to = credentialsHost === null ? {} : { credentialsHost }
  const connecting = useMutation({
    mutationFn: () => connectPlugin(pluginId, isBasic ? { username, password: secret, ...to } : { accessToken: secret, ...to }),
    onSuccess: () => {
      say(pluginTexts.connectedNow({ name }))
      onClose()
    },
  })
  return (
    <Dialog
      title={pluginTexts.connectTitle({ name })}
      action={pluginTexts.connect()}
      isBusy={connecting.isPending}
      onAction={() => connecting.mutate()}
      onClose={onClose}
    >
      <p>{credentialsHost === null ? pluginTexts.connectNowhere() : pluginTexts.connectWords({ host: credentialsHost })}</p>
      {isBasic && (
        <TextField
          label={pluginTexts.username()}
          value={username}
          required
          autoComplete="off"
          onChange={({ currentTarget }) => setUsername(currentTarget.value)}
        />
      )}
      <PasswordField
        label={isBasic ? pluginTexts.password() : pluginTexts.token()}
        hint={isBasic ? undefined : pluginTexts.tokenHint()}
        value={secret}
        required
        autoComplete="off"
        onChange={({ currentTarget }) => setSecret(currentTarget.value)}
      />
      {connecting.error && <Failure error={connecting.error} title={pluginTexts.connect()} />}
    </Dialog>
  )
}
