import { Component, type ReactNode, useEffect } from 'react'
import { onReturn } from '#api/events.ts'
import { MissingPart, reload, reloadOnce } from '#parts/load-part.ts'
import { Failure } from '#parts/states.tsx'
import { appTexts } from '#texts/app.ts'

/** Shows the reason in place of a page that threw an exception: never an empty window. */
export class BrokenPage extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null }

  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    const { error } = this.state
    return error === null ? this.props.children : <Reason error={error} />
  }
}

/** A page of which a part is missing is loaded again once the server is back, which it may be since the part was asked for. */
function Reason({ error }: { error: Error }) {
  const isMissing = error instanceof MissingPart
  useEffect(() => {
    if (!isMissing) return
    void reloadOnce()
    return onReturn(() => void reloadOnce())
  }, [isMissing])
  return <Failure title={appTexts.broken()} error={error} onRetry={() => void reload()} />
}
