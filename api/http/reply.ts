import type { ArchivedFile } from '#core/reading/archived-file.ts'

/** The reply of a stream route that does not end by itself. */
export interface EventsReply {
  kind: 'events'
  /**
   * @param lastEventId the last event that the client has received; null at the first connection
   * @throws errors to send before the stream begins
   */
  open: (lastEventId: string | null) => EventSource
  /** Its source is core/events/follow.ts, which ends it when a change of the caller's rights is announced. Any other is checked now and then. */
  followsRights?: true
  /** Whether the caller may still receive it, beyond having the same rights; checked now and then. */
  isAllowed?: () => Promise<boolean>
}

/** The source of the events. It is called directly: for thousands of clients, signals and iterators would cost a kilobyte each. */
export interface EventSource {
  /** Called once and first, unless the client disconnects at once. */
  start(client: EventClient): void
  /** The client accepts more. */
  resume(): void
  /** The client disconnected, must reconnect to be authorized again, or the server closes. */
  close(): void
}

/** The client of a stream, as its source sees it. */
export interface EventClient {
  /** False if the source should wait for {@link EventSource.resume}. */
  write(blocks: Blocks): boolean
  /** Ends the stream. */
  end(): void
  /** Closes the connection, so that the client knows that the stream is incomplete. */
  fail(error: unknown): void
}

/** Encoded events, shared by all clients that get the same ones. */
export interface Blocks {
  plain: Buffer
  /** As one chunk of a chunked response (RFC 9112, 7.1). */
  chunk: Buffer
}

/** A zip of files that is written while it is sent. */
export interface ArchiveReply {
  kind: 'archive'
  attachmentName: string
  cacheControl: string
  files: readonly ArchivedFile[]
  /** Whether the caller may still receive it, checked again and again while a long file is sent. */
  isAllowed: () => Promise<boolean>
}

/** Bytes whose length is known before they are read; may also have a gzip form. */
export interface ContentReply {
  kind: 'content'
  mediaType: string
  /** Strong ETag without quotes. */
  etag: string
  cacheControl: string
  headers: Record<string, string>
  /** Declared length: HEAD sends it without reading anything. */
  bytes: number
  /** Length of the gzip form; null if there is none. */
  gzipBytes: number | null
  /** Whether the caller may still receive it, checked again and again while it is sent. */
  isAllowed?: () => Promise<boolean>
  /** Not called when the client's copy is current. */
  open(options: { asGzip: boolean }): Promise<OpenedContent>
}

/** What `open` of a {@link ContentReply} returns. */
export interface OpenedContent {
  /** False if no gzip form could be made. */
  isGzip: boolean
  bytes: number
  /** The whole content, if it is in memory. */
  whole: Uint8Array | null
  /** From `start` to `end`; the gzip form only as a whole. */
  read(part: { start: number; end: number }): AsyncIterable<Uint8Array>
  close(): void
}

/** The reply of a stream route. api/http/send.ts handles ranges, conditional requests and HEAD; events are sent as they occur. */
export type StreamReply =
  | EventsReply
  | ArchiveReply
  | ContentReply
  | {
      kind: 'bytes'
      bytes: Uint8Array
      /** The same bytes, compressed in advance, for clients that accept gzip. */
      gzipped?: Uint8Array
      /** Text made for this one response: compressed if the client accepts gzip and it is worth it. */
      compress?: true
      mediaType: string
      /** Default 200; others for a page that shows a user in a browser what went wrong. */
      status?: 200 | 400 | 404 | 503
      /** Strong ETag without quotes. */
      etag?: string
      lastModified?: Date
      cacheControl: string
      headers?: Record<string, string>
    }
  | {
      /** Bytes that are expensive to make: `make` is not called when the client's copy is current. */
      kind: 'made'
      make: () => Promise<{
        bytes: Uint8Array
        mediaType: string /** Called once, when nothing reads `bytes` any more. */
        release?: () => void
      }>
      /** Strong ETag without quotes. */
      etag: string
      lastModified?: Date
      cacheControl: string
      headers?: Record<string, string>
    }
  | {
      /** Text that is stored compressed. It is unpacked for the few clients that do not accept gzip. */
      kind: 'packed'
      /** Not called when the client's copy is current. */
      gzipped: () => Promise<Uint8Array>
      mediaType: string
      /** Strong ETag without quotes. */
      etag: string
      cacheControl: string
    }
  | {
      /** The content has another address. */
      kind: 'redirect'
      /** Path of this server. */
      location: string
    }
  | {
      kind: 'file'
      /** Absolute path of a regular file; served with Range and conditional requests. */
      path: string
      /** The folder that must really contain the file, links resolved; default: the folder in the path. */
      inside?: string
      /** Or one of these folders, through a link. */
      linkTargets?: readonly string[]
      mediaType: string
      etag: string
      cacheControl: string
      /** Whether the caller may still receive it, checked again and again while it is sent. */
      isAllowed?: () => Promise<boolean>
      /** If given: `Content-Disposition: attachment` with this name (RFC 6266). */
      attachmentName?: string
    }

/** An error response: status, body and, if known, how long to wait. */
export interface ErrorAnswer {
  status: number
  body: { error: string; message: string; requestId: string; details?: unknown } | { error: string; message: string; retry_after: number }
  retryAfterSeconds?: number
}
