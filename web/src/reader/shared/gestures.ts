interface Point {
  x: number
  y: number
}

/** What fingers and the mouse do on a page; points are CSS pixels from the middle of the element. */
export interface GestureActions {
  tap(at: Point, size: { width: number; height: number }): void
  /** Without it, a tap need not wait for a second one. */
  doubleTap?(at: Point): void
  /** @param by of the distance of two fingers, or of the wheel */
  pinch?(by: number, at: Point): void
  /** @returns whether the content moved: if not, the move becomes a swipe */
  pan?(dx: number, dy: number): boolean
  /** While a finger is down. */
  dragged?(dx: number): void
  /** The finger left; `by` of the width, or 0 for a move that counts for nothing. */
  swiped?(by: number): void
}

const DOUBLE_TAP_MS = 280
/** Fingers tremble. */
const TAP_PX = 10
/** Gestures of the system begin at the edges. */
const EDGE_PX = 24
const SWIPE_FRACTION = 0.3
/** CSS pixels in a millisecond. */
const FLICK_SPEED = 0.5

/** Reads gestures from pointer events of an element. `close` removes the listeners. */
export class Gestures {
  readonly #element: HTMLElement
  readonly #actions: () => GestureActions
  readonly #ending = new AbortController()
  readonly #fingers = new Map<number, Point>()
  #start: (Point & { time: number; isEdge: boolean }) | null = null
  #moved = false
  /** Whether there were two fingers. Until all have left, the last one may move the content, but not turn the page: fingers never leave together. */
  #wasPair = false
  #swipe = false
  #lastTap: { time: number; timer: ReturnType<typeof setTimeout> } | null = null

  /** @param actions the present ones: what they do depends on what is shown */
  constructor(element: HTMLElement, actions: () => GestureActions) {
    this.#element = element
    this.#actions = actions
    const { signal } = this.#ending
    element.addEventListener('pointerdown', (event) => this.#down(event), { signal })
    element.addEventListener('pointermove', (event) => this.#move(event), { signal })
    element.addEventListener('pointerup', (event) => this.#up(event), { signal })
    element.addEventListener('pointercancel', (event) => this.#cancel(event), { signal })
    element.addEventListener('wheel', (event) => this.#wheel(event), { signal, passive: false })
  }

  close(): void {
    this.#ending.abort()
    if (this.#lastTap) clearTimeout(this.#lastTap.timer)
  }

  #pointOf({ clientX, clientY }: MouseEvent): Point {
    const { left, top, width, height } = this.#element.getBoundingClientRect()
    return { x: clientX - left - width / 2, y: clientY - top - height / 2 }
  }

  #down(event: PointerEvent): void {
    if (event.button !== 0 || isControl(event.target)) return
    const at = this.#pointOf(event)
    this.#fingers.set(event.pointerId, at)
    if (this.#fingers.size > 1) {
      this.#moved = true
      this.#wasPair = true
      this.#endSwipe(0)
      return
    }
    this.#moved = false
    this.#wasPair = false
    const isEdge = event.pointerType === 'touch' && (event.clientX < EDGE_PX || event.clientX > innerWidth - EDGE_PX)
    this.#start = { ...at, time: event.timeStamp, isEdge }
  }

  #move(event: PointerEvent): void {
    const before = this.#fingers.get(event.pointerId)
    if (!before || !this.#start) return
    const at = this.#pointOf(event)
    this.#fingers.set(event.pointerId, at)
    if (this.#fingers.size === 2) {
      this.#pinch(event.pointerId, before, at)
      return
    }
    const whole = { x: at.x - this.#start.x, y: at.y - this.#start.y }
    if (!this.#moved && Math.hypot(whole.x, whole.y) < TAP_PX) return
    if (!this.#moved) this.#element.setPointerCapture(event.pointerId)
    this.#moved = true
    if (!this.#swipe && this.#actions().pan?.(at.x - before.x, at.y - before.y)) return
    if (this.#wasPair || event.pointerType !== 'touch' || this.#start.isEdge || Math.abs(whole.y) > Math.abs(whole.x)) return
    this.#swipe = true
    this.#actions().dragged?.(whole.x)
  }

  #pinch(moving: number, before: Point, at: Point): void {
    const other = [...this.#fingers].find(([id]) => id !== moving)?.[1]
    if (!other) return
    const distance = (from: Point) => Math.hypot(from.x - other.x, from.y - other.y) || 1
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }
    this.#actions().pinch?.(distance(at) / distance(before), middle)
    this.#actions().pan?.((at.x - before.x) / 2, (at.y - before.y) / 2)
  }

  #up(event: PointerEvent): void {
    if (!this.#fingers.delete(event.pointerId) || this.#fingers.size > 0) return
    const start = this.#start
    this.#start = null
    if (!start) return
    const at = this.#pointOf(event)
    if (!this.#moved) {
      this.#tap(event, at)
      return
    }
    const { width } = this.#element.getBoundingClientRect()
    const dx = at.x - start.x
    const isFlick = Math.abs(dx) / Math.max(1, event.timeStamp - start.time) > FLICK_SPEED
    this.#endSwipe(isFlick || Math.abs(dx) > width * SWIPE_FRACTION ? dx / width : 0)
  }

  #cancel(event: PointerEvent): void {
    this.#fingers.delete(event.pointerId)
    this.#start = null
    this.#endSwipe(0)
  }

  #endSwipe(by: number): void {
    if (!this.#swipe) return
    this.#swipe = false
    this.#actions().swiped?.(by)
  }

  #tap(event: PointerEvent, at: Point): void {
    const { width, height } = this.#element.getBoundingClientRect()
    const tap = () => this.#actions().tap(at, { width, height })
    // A mouse has a wheel to zoom; its clicks turn at once.
    if (!this.#actions().doubleTap || event.pointerType === 'mouse') {
      tap()
      return
    }
    if (this.#lastTap && event.timeStamp - this.#lastTap.time < DOUBLE_TAP_MS) {
      clearTimeout(this.#lastTap.timer)
      this.#lastTap = null
      this.#actions().doubleTap?.(at)
      return
    }
    const timer = setTimeout(() => {
      this.#lastTap = null
      tap()
    }, DOUBLE_TAP_MS)
    this.#lastTap = { time: event.timeStamp, timer }
  }

  #wheel(event: WheelEvent): void {
    const { pinch, pan } = this.#actions()
    // Trackpads send a pinch as a wheel with ctrl.
    if (event.ctrlKey && pinch) {
      event.preventDefault()
      pinch(Math.exp(-event.deltaY / 300), this.#pointOf(event))
    } else if (pan?.(-event.deltaX, -event.deltaY)) event.preventDefault()
  }
}

/** Controls on a page keep their events, but swipes begin on the buttons that turn it. */
const isControl = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('button:not(.turn), a, input') !== null
