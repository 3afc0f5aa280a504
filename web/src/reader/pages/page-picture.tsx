import { ImageOff, RotateCw } from 'lucide-react'
import { type CSSProperties, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { readerTexts } from '#texts/reader.ts'
import { bytesLabel } from '../shared/labels.ts'
import type { PageLoader, PageState } from './page-loader.ts'
import type { Rotation } from './page-rules.ts'
import { usePageState } from './use-page-loader.ts'

interface PictureProps {
  loader: PageLoader
  page: number
  total: number
  title: string
  /** How much of the picture shows, and by how much it is turned. */
  half?: 'whole' | 'left' | 'right'
  angle: Rotation
  style?: CSSProperties
  onSkip(): void
}

/** The picture of a page, or what is known of it. */
export function PagePicture({ loader, page, total, title, half = 'whole', angle, style, onSkip }: PictureProps) {
  const state = usePageState(loader, page)
  if (state.kind === 'decoded') {
    const alt = readerTexts.pageAlt({ page, total, title })
    return (
      <div className="page-box" data-half={half} data-angle={angle} style={style}>
        <Picture picture={state.picture} alt={alt} />
      </div>
    )
  }
  if (state.kind === 'broken')
    return (
      <BrokenPage
        state={state}
        page={page}
        style={style}
        onRetry={() => loader.retry(page)}
        onShow={() => loader.showAsIs(page)}
        onSkip={onSkip}
      />
    )
  return <SlowPage state={state} page={page} style={style} />
}

/** The decoded element itself: a copy with the same address would be decoded again. */
function Picture({ picture, alt }: { picture: HTMLImageElement; alt: string }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    picture.alt = alt
    place.current?.replaceChildren(picture)
  }, [picture, alt])
  return <div className="page-place" ref={place} />
}

/** A shorter wait shows the color of the place only. */
const WORDS_AFTER_MS = 300

function SlowPage({ state, page, style }: { state: PageState; page: number; style: CSSProperties | undefined }) {
  const [isSlow, setIsSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsSlow(true), WORDS_AFTER_MS)
    return () => clearTimeout(timer)
  }, [])
  const total = state.kind === 'loading' ? state.total : null
  const received = state.kind === 'loading' ? state.received : 0
  return (
    <div className="slot page-box" dir="ltr" role="img" aria-label={readerTexts.pageLoading({ page })} style={style}>
      {isSlow && <span className="slot-no">{page}</span>}
      {isSlow && total !== null && (
        <>
          <p>{readerTexts.bytesOf({ received: bytesLabel(received), total: bytesLabel(total) })}</p>
          <span className="slot-bar" style={{ '--at': `${(received / total) * 100}%` } as CSSProperties}>
            <i />
          </span>
        </>
      )}
    </div>
  )
}

interface BrokenProps {
  state: Extract<PageState, { kind: 'broken' }>
  page: number
  style: CSSProperties | undefined
  onRetry(): void
  onShow(): void
  onSkip(): void
}

function BrokenPage({ state, page, style, onRetry, onShow, onSkip }: BrokenProps) {
  return (
    <section className="slot broken page-box" dir="ltr" aria-label={readerTexts.page({ page })} style={style}>
      <Icon of={ImageOff} />
      <h2>{readerTexts.pageBroken({ page })}</h2>
      <p>{state.sentence}</p>
      <div className="line">
        <button type="button" className="btn" onClick={onRetry}>
          <Icon of={RotateCw} />
          {readerTexts.retry()}
        </button>
        <button type="button" className="btn plain" onClick={onShow}>
          {readerTexts.showAsIs()}
        </button>
        <button type="button" className="btn plain" onClick={onSkip}>
          {readerTexts.skipPage()}
        </button>
      </div>
      {state.requestId && <p className="tiny">{readerTexts.request({ id: state.requestId })}</p>}
    </section>
  )
}
