import { X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Icon } from '#parts/icon.tsx'
import { markTexts } from '#texts/marks.ts'
import { readerTexts } from '#texts/reader.ts'
import { Gestures } from '../shared/gestures.ts'
import { ReaderDialog } from '../shared/reader-dialog.tsx'
import { limitZoom, NO_ZOOM, ZOOM_DOUBLE_TAP, type Zoom, zoomAt } from '../shared/zoom.ts'
import type { BookPicture } from './text-view.ts'

/** A step of the keys. */
const ZOOM_STEP = 1.25

/** A picture of the book as large as the screen, and larger. */
export function PictureView({ picture: { address, alt }, onClose }: { picture: BookPicture; onClose(): void }) {
  const stage = useRef<HTMLDivElement>(null)
  const shown = useRef<HTMLImageElement>(null)
  const [zoom, setZoom] = useState<Zoom>(NO_ZOOM)
  const change = (next: (before: Zoom) => Zoom) =>
    setZoom((before) => {
      const { offsetWidth: width, offsetHeight: height } = shown.current as HTMLImageElement
      const screen = { width: stage.current?.clientWidth ?? 1, height: stage.current?.clientHeight ?? 1 }
      return limitZoom(next(before), { width, height }, screen)
    })
  const latest = useRef(change)
  latest.current = change
  useEffect(() => {
    if (!stage.current) return
    const gestures = new Gestures(stage.current, () => ({
      tap: () => {},
      doubleTap: (at) => latest.current((before) => (before.scale > 1 ? NO_ZOOM : zoomAt(before, ZOOM_DOUBLE_TAP, at))),
      pinch: (by, at) => latest.current((before) => zoomAt(before, before.scale * by, at)),
      pan(x, y) {
        latest.current((before) => ({ ...before, x: before.x + x, y: before.y + y }))
        return true
      },
    }))
    return () => gestures.close()
  }, [])
  const step = ({ key }: { key: string }) => {
    if (key === '+' || key === '=') change((before) => zoomAt(before, before.scale * ZOOM_STEP, { x: 0, y: 0 }))
    if (key === '-') change((before) => zoomAt(before, before.scale / ZOOM_STEP, { x: 0, y: 0 }))
    if (key === '0') setZoom(NO_ZOOM)
  }
  return (
    <ReaderDialog title={alt || markTexts.picture()} className="picture-view" isTitleInside onKey={step} onClose={onClose}>
      <div className="picture-stage" ref={stage} title={markTexts.pictureHint()}>
        <img
          ref={shown}
          src={address}
          alt={alt}
          draggable={false}
          style={{ transform: `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})` }}
        />
      </div>
      <button type="button" className="icon-btn" aria-label={readerTexts.close()} onClick={onClose}>
        <Icon of={X} />
      </button>
      {alt && <p dir="auto">{alt}</p>}
    </ReaderDialog>
  )
}
