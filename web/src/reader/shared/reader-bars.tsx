import { ArrowLeft, Bookmark } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'

interface BarProps {
  back: { href: string; label: string }
  /** Beside the way back. */
  start?: ReactNode
  title: string
  subtitle: string
  language?: string | null
  tools: ReactNode
}

/** The bar above: the way back, what is read, tools. */
export function TopBar({ back, start, title, subtitle, tools }: BarProps) {
  return (
    <header className="rbar rbar-top">
      <div className="rbar-back">
        <Link className="btn plain" href={back.href} aria-label={back.label}>
          <Icon of={ArrowLeft} flips />
          <span dir="auto">{back.label}</span>
        </Link>
        {start}
      </div>
      <div className="rbar-title">
        <h1 dir="auto">{title}</h1>
        <p dir="auto">{subtitle}</p>
      </div>
      <div className="rbar-tools">{tools}</div>
    </header>
  )
}

interface ToolProps {
  label: string
  icon: ReactNode
  isPressed?: boolean
  className?: string
  onPress(): void
}

export function BarTool({ label, icon, isPressed, className = '', onPress }: ToolProps) {
  return (
    <button type="button" className={`icon-btn ${className}`} aria-label={label} title={label} aria-pressed={isPressed} onClick={onPress}>
      {icon}
    </button>
  )
}

export function BookmarkIcon({ isSet }: { isSet: boolean }) {
  return (
    <span className="bookmark-icon" data-set={isSet || undefined}>
      <Icon of={Bookmark} />
    </span>
  )
}
