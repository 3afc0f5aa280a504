import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '#test/support/library-fixture.ts'

/** Time after the first id, which every stream sends at its start: immediate events have arrived by then. */
const LISTEN_MS = 100
/** Time until the first id, on a busy machine. */
const FIRST_ID_MS = 10_000

/** The text of a response. For a stream of events, which never ends: the immediate events, without their ids, which differ each time. */
export async function textOf(answer: Response): Promise<string> {
  if (!answer.headers.get('content-type')?.startsWith('text/event-stream')) return await answer.text()
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  const after = (ms: number) => sleep(ms).then(() => ({ done: true as const, value: undefined }))
  let late = after(FIRST_ID_MS)
  let text = ''
  for (;;) {
    const { done, value } = await Promise.race([reader.read(), late])
    if (done) break
    const hadId = text.includes('id: ')
    text += value
    if (!hadId && text.includes('id: ')) late = after(LISTEN_MS)
  }
  await reader.cancel()
  return text.replaceAll(/^id: .*$/gm, 'id')
}

export interface ReadEvent {
  id: string
  type: string
  data: Record<string, unknown> & { type: string }
}

/** A client of an event stream that stores everything it receives. */
export interface EventReader {
  events: ReadEvent[]
  /** Every byte as text. */
  text(): string
  /** The id to send when the client reconnects. */
  lastId(): string | null
  /** Whether the server has ended it. */
  isOver(): boolean
  /** Waits for an event. */
  find(wanted: (event: ReadEvent) => boolean, ms?: number): Promise<ReadEvent>
  close(): Promise<void>
}

/** Opens an event stream. @throws when the server refuses it, with the response */
export async function followEvents(
  url: string,
  token: string,
  { after = null, path = '/api/v1/events' }: { after?: string | null; path?: string } = {},
) {
  const leave = new AbortController()
  const answer = await fetch(url + path, {
    headers: { authorization: `Bearer ${token}`, ...(after !== null && { 'last-event-id': after }) },
    signal: leave.signal,
  })
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  let text = ''
  let lastId: string | null = null
  let isOver = false
  let failure: unknown = null
  const events: ReadEvent[] = []
  const reading = (async () => {
    let rest = ''
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      rest += chunk
      const blocks = rest.split('\n\n')
      rest = blocks.pop() as string
      for (const block of blocks) {
        const line = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
        const [id, data] = [line('id'), line('data')]
        lastId = id ?? lastId
        if (data !== undefined) events.push({ id: lastId ?? '', type: line('event') ?? 'message', data: JSON.parse(data) })
        // A separate block, after the event that it names.
        else if (id !== undefined && events.length > 0) (events.at(-1) as ReadEvent).id = id
      }
    }
    isOver = true
  })().catch((error: unknown) => {
    if (!leave.signal.aborted) failure = error
  })
  const reader: EventReader = {
    events,
    text: () => text,
    lastId: () => lastId,
    isOver: () => isOver,
    find: async (wanted, ms = 60_000) =>
      await until(() => {
        if (failure !== null) throw new Error('The stream broke', { cause: failure })
        const found = events.find(wanted)
        if (isOver && !found) throw new Error(`The stream ended after ${JSON.stringify(events.at(-1)?.data)}`)
        return found ?? null
      }, ms),
    async close() {
      leave.abort()
      await reading
    },
  }
  // From now on the id is known.
  await until(() => lastId !== null)
  return reader
}
