import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'
import { CardBones } from '#parts/loading.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { CardContent } from '#parts/works/card.tsx'
import type { KnownCover } from '#parts/works/cover.tsx'
import style from './lists.module.css'

export interface ShelfCard {
  id: string
  name: string
  words: string
  href: string
  /** Of its picture in the API; null when it has none. */
  cover: string | null
  known: KnownCover | null
}

interface ShelfCardsProps {
  title: string
  /** Beside it. */
  tools?: ReactNode
  cards: readonly ShelfCard[] | undefined
  error: Error | null
  onRetry: () => void
  empty: { icon: LucideIcon; title: string; words: string }
}

/** Covers of the grid, in CSS pixels: `--cover-l`. */
const COVER_WIDTH = 168
const BONES = 8

/** All collections, or all read lists. */
export function ShelfCards({ title, tools, cards, error, onRetry, empty }: ShelfCardsProps) {
  return (
    <div className={style['page']}>
      <header className="head">
        <h1 className="page-title">{title}</h1>
        {tools && <div className="end">{tools}</div>}
      </header>
      {error && <Failure error={error} onRetry={onRetry} />}
      {cards?.length === 0 && <Empty {...empty} />}
      <ul className="grid">
        {!cards && !error && <CardBones count={BONES} />}
        {cards?.map((card) => (
          <li key={card.id}>
            <CardContent
              level={2}
              href={card.href}
              title={card.name}
              words={card.words}
              cover={{ path: card.cover, known: card.known, mark: null }}
              width={COVER_WIDTH}
            />
          </li>
        ))}
      </ul>
    </div>
  )
}
