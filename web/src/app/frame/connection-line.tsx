import { WifiOff } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { connection } from '#api/events.ts'
import { Icon } from '#parts/icon.tsx'
import { appTexts } from '#texts/app.ts'

/** Says that the server cannot be reached, while that is so. */
export function ConnectionLine() {
  const isLost = useSyncExternalStore(connection.subscribe, connection.isLost)
  if (!isLost) return null
  return (
    <div className="banner" role="status">
      <Icon of={WifiOff} />
      <span>{appTexts.offline()}</span>
      <button type="button" className="btn spread" onClick={connection.retry}>
        {appTexts.tryNow()}
      </button>
    </div>
  )
}
