import { ChevronLeft, ChevronRight } from 'lucide-react'
import { type ReactNode, useCallback, useEffect, useId, useRef, useState } from 'react'
import { Link } from 'wouter'
import { Icon } from '#parts/icon.tsx'
import { partTexts } from '#texts/parts.ts'
import style from './shelf.module.css'

interface ShelfProps {
  title: string
  /** Where all of it is. */
  allHref?: string
  /** How many there are; null when it is not known. */
  total?: number | null
  /** Items of a list. */
  children: ReactNode
}

/** A row of cards that scrolls sideways, by finger, wheel, keyboard or two buttons. */
export function Shelf({ title, allHref, total, children }: ShelfProps) {
  const id = useId()
  const { list, ends, step } = useSideways()
  return (
    <section className="shelf" aria-labelledby={id}>
      <header className="head">
        <h2 className="section-title" id={id}>
          {allHref ? <Link href={allHref}>{title}</Link> : title}
        </h2>
        <div className="end">
          {allHref && (
            <Link className="btn plain" href={allHref} id={`${id}-all`} aria-labelledby={`${id}-all ${id}`}>
              {partTexts.seeAll()} {total ? <span className="faint">{total.toLocaleString('en')}</span> : null}
            </Link>
          )}
          {!(ends.isStart && ends.isEnd) && <Steps ends={ends} onStep={step} />}
        </div>
      </header>
      <ul ref={list} className={style['list']} aria-labelledby={id}>
        {children}
      </ul>
    </section>
  )
}

interface Ends {
  isStart: boolean
  isEnd: boolean
}

function Steps({ ends, onStep }: { ends: Ends; onStep: (by: 1 | -1) => void }) {
  return (
    <>
      <button type="button" className="icon-btn step" aria-label={partTexts.earlier()} disabled={ends.isStart} onClick={() => onStep(-1)}>
        <Icon of={ChevronLeft} flips />
      </button>
      <button type="button" className="icon-btn step" aria-label={partTexts.further()} disabled={ends.isEnd} onClick={() => onStep(1)}>
        <Icon of={ChevronRight} flips />
      </button>
    </>
  )
}

/** A scroll of less than this is none: browsers round. In pixels. */
const ROUNDING = 2

/** Where a list that scrolls sideways stands, and steps of almost its width. Works in both directions of writing. */
export function useSideways() {
  const list = useRef<HTMLUListElement>(null)
  const [ends, setEnds] = useState<Ends>({ isStart: true, isEnd: true })
  useEffect(() => {
    const box = list.current
    if (!box) return
    const look = () => {
      const at = Math.abs(box.scrollLeft)
      const next = { isStart: at < ROUNDING, isEnd: at + box.clientWidth > box.scrollWidth - ROUNDING }
      setEnds((last) => (last.isStart === next.isStart && last.isEnd === next.isEnd ? last : next))
    }
    look()
    const sizes = new ResizeObserver(look)
    sizes.observe(box)
    const children = new MutationObserver(look)
    children.observe(box, { childList: true })
    box.addEventListener('scroll', look, { passive: true })
    return () => {
      sizes.disconnect()
      children.disconnect()
      box.removeEventListener('scroll', look)
    }
  }, [])
  const step = useCallback((by: 1 | -1) => {
    const box = list.current
    if (!box) return
    const sign = getComputedStyle(box).direction === 'rtl' ? -1 : 1
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches
    box.scrollBy({ left: sign * by * box.clientWidth * 0.85, behavior: isStill ? 'auto' : 'smooth' })
  }, [])
  return { list, ends, step }
}
