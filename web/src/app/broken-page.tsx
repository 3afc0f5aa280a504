import { Component, type ReactNode } from 'react'
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
    if (error === null) return this.props.children
    return <Failure title={appTexts.broken()} error={error} onRetry={() => location.reload()} />
  }
}
