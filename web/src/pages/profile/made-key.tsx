import { Copy } from 'lucide-react'
import { SERVER_PATH } from '#api/client.ts'
import { say } from '#parts/above/toasts.tsx'
import { Icon } from '#parts/icon.tsx'
import { profileTexts } from '#texts/profile.ts'
import style from './profile.module.css'

interface MadeKeyProps {
  name: string
  value: string
  onClose: () => void
}

/** A new key with the addresses to type into an app. */
export function MadeKey({ name, value, onClose }: MadeKeyProps) {
  const server = location.origin + SERVER_PATH
  const lines = [
    { label: profileTexts.server(), value: server },
    { label: profileTexts.address(), value: `${server}/opds/v1/catalog` },
    { label: profileTexts.key(), value },
  ]
  return (
    <div className="notice good" role="status">
      <span />
      <p>
        <strong>{profileTexts.madeTitle({ name })}.</strong> {profileTexts.madeWords()}
      </p>
      <dl className={`line ${style['type']}`}>
        {lines.map((line) => (
          <div key={line.label}>
            <dt>{line.label}</dt>
            <dd className="mono">{line.value}</dd>
            <CopyButton label={line.label} value={line.value} />
          </div>
        ))}
      </dl>
      <div className="line">
        <button type="button" className="btn" onClick={onClose}>
          {profileTexts.done()}
        </button>
      </div>
    </div>
  )
}

/** Browsers give no clipboard over plain HTTP: there the text is selected by hand. */
function CopyButton({ label, value }: { label: string; value: string }) {
  if (!navigator.clipboard) return null
  return (
    <button
      type="button"
      className="icon-btn"
      aria-label={`${profileTexts.copy()}: ${label}`}
      onClick={() => void navigator.clipboard.writeText(value).then(() => say(profileTexts.copied()))}
    >
      <Icon of={Copy} />
    </button>
  )
}
