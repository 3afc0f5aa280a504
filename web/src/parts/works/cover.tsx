import { Check } from 'lucide-react'
import { useEffect, useState } from 'react'
import { serverAddress } from '#api/client.ts'
import { onReturn } from '#api/events.ts'
import { Icon } from '#parts/icon.tsx'
import { partTexts } from '#texts/parts.ts'

const percents = new Intl.NumberFormat('en', { style: 'percent' })

/** One of three: at most one is shown on a cover. */
export type CoverMark = { kind: 'progress' /** 0 to 1. */; part: number } | { kind: 'finished' } | { kind: 'unread'; count: number } | null

/** What the server knows of a cover before its picture is loaded. */
export interface KnownCover {
  version?: string | null
  width?: number | null
  height?: number | null
  /** `#rrggbb` */
  color?: string | null
}

export interface CoverProps {
  /** Of the picture in the API, for example `api/v1/books/…/thumbnail`; null when there is none. */
  path: string | null
  known?: KnownCover | null
  /** Stands on the plain binding when there is no picture. */
  title: string
  byline?: string
  lang?: string | undefined
  mark?: CoverMark
  /** In CSS pixels: how wide the cover is shown. */
  width: number
  isLifted?: boolean
  /** The picture is seen at once: not to wait for the page to settle. */
  isFirst?: boolean
}

/** The widths that the server makes, in pixels. */
const WIDTHS = [160, 240, 320, 480]
const SHAPE = 2 / 3
/** A picture nearer to the shape of covers than this is cut, any other stands whole on its color. */
const CUT_MAX = 1.2

/** The picture of a series, book or list in a place of two by three that keeps its size, colored before the picture is there. */
export function Cover({ path, known, title, byline, lang, mark = null, width, isLifted, isFirst }: CoverProps) {
  const [failedPath, setFailedPath] = useState<string | null>(null)
  useEffect(() => (failedPath === null ? undefined : onReturn(() => setFailedPath(null))), [failedPath])
  const [loadedShape, setLoadedShape] = useState<number | null>(null)
  const shape = known?.width && known.height ? known.width / known.height : loadedShape
  const isWhole = shape !== null && Math.max(shape / SHAPE, SHAPE / shape) > CUT_MAX
  const isShown = path !== null && path !== failedPath
  const classes = ['cover', isWhole && 'whole', isLifted && 'lifted'].filter(Boolean).join(' ')
  return (
    <span className={classes} style={isShown && known?.color ? { ['--c' as string]: known.color } : undefined}>
      {isShown ? (
        <img
          src={coverAddress(path, known, width)}
          alt=""
          loading={isFirst ? 'eager' : 'lazy'}
          decoding="async"
          draggable={false}
          onLoad={({ currentTarget }) => setLoadedShape(currentTarget.naturalWidth / currentTarget.naturalHeight)}
          onError={() => setFailedPath(path)}
        />
      ) : (
        <span className="plate" lang={lang} dir="auto" aria-hidden="true" style={{ ['--letters' as string]: longestWord(title) }}>
          <span className="clip-4">{title}</span>
          {byline && <small className="clip-2">{byline}</small>}
        </span>
      )}
      <Mark mark={mark} />
    </span>
  )
}

function Mark({ mark }: { mark: CoverMark }) {
  if (!mark) return null
  if (mark.kind === 'progress') {
    const percent = percents.format(mark.part)
    return (
      <span className="progress" style={{ ['--at' as string]: percent }}>
        <span className="visually-hidden">{partTexts.progress({ percent })}</span>
      </span>
    )
  }
  if (mark.kind === 'finished')
    return (
      <span className="mark" title={partTexts.finished()}>
        <Icon of={Check} />
        <span className="visually-hidden">{partTexts.finished()}</span>
      </span>
    )
  const words = partTexts.unread({ count: mark.count })
  return (
    <span className="mark" title={words}>
      <span aria-hidden="true">{mark.count.toLocaleString('en')}</span>
      <span className="visually-hidden">{words}</span>
    </span>
  )
}

/** In letters: words break at spaces and hyphens. */
const longestWord = (title: string): number => Math.max(1, ...title.split(/[\s\-\u2010]/).map((word) => word.length))

function coverAddress(path: string, known: KnownCover | null | undefined, width: number): string {
  if (!known) return serverAddress(path)
  const wanted = width * Math.min(2, devicePixelRatio)
  const made = WIDTHS.find((each) => each >= wanted) ?? WIDTHS.at(-1)!
  const version = known.version ? `&v=${encodeURIComponent(known.version)}` : ''
  return serverAddress(`${path}?width=${made}${version}`)
}
