import type { Cover, LibraryFile, Problem } from '#core/fields/analysis.ts'

interface Drawing {
  /** Path of the file. For a picture from memory, the key under which a refusal is cached. */
  path: string
  /** From 0. */
  index: number
  /** Pixels of the longer side of the picture. */
  longestSide: number
  /** After a page, the next one is likely to follow soon, so its document stays open; the cover of a scanned book comes alone. */
  purpose: 'page' | 'cover'
}

/** One page of a PDF. */
export interface PageDrawing extends Drawing, LibraryFile {
  picture?: undefined
  /** Another process also describes the document, before it draws. */
  describes?: true
}

/** A picture that is not safe to decode in a thread. It is scaled to fit within `width` and `height` pixels, never enlarged. */
interface PictureDrawing extends Drawing {
  picture: { bytes: Uint8Array; width: number; height: number }
}

export type DrawingRequest = PageDrawing | PictureDrawing

/** A drawn page; `incomplete` when a picture in it is missing because it was too large to decode. */
export interface DrawnPage extends Cover {
  incomplete: boolean
}

export type DrawingOutcome = (DrawnPage | { problem: Problem }) & {
  /** See workers/formats/pdf/pdf-description.ts. Absent if it was not requested, or if its process ended before. */
  description?: Uint8Array<ArrayBuffer>
  /** The time that a process needed, without waiting for one. Absent if none was used, as for a page that is refused at once. */
  drawnMs?: number
}

/** More than a description of a PDF takes: 5,000 sizes of pages and half a million characters, each up to six bytes in JSON. */
export const DESCRIPTION_BYTES_MAX = 4 * 1024 * 1024

/** Draws a page, here or in another process. Problems of the page or its file are an outcome; a throw is a bug, or an abort. */
export type DrawPdfPage = (request: DrawingRequest) => Promise<DrawingOutcome>

export type DrawPage = (request: PageDrawing) => Promise<DrawingOutcome>

/** Messages from the server to a child. `cancel` stops the current job as soon as the child reads the message. */
export type ToChild =
  | { kind: 'draw'; id: number; request: PageDrawing; deadlineMs: number }
  /** The bytes of the picture are the body of the frame. */
  | { kind: 'picture'; id: number; width: number; height: number }
  | { kind: 'cancel'; id: number }

/** Messages from a child; the picture is the body of its frame. */
export type FromChild =
  | { kind: 'ready' }
  /** The description of the document that is to be drawn is the body of the frame. */
  | { kind: 'described'; id: number }
  | { kind: 'drawn'; id: number; width: number; height: number; incomplete: boolean }
  | { kind: 'refused'; id: number; problem: Problem }
  | { kind: 'failed'; id: number; message: string }
