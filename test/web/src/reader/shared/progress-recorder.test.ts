import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { type Answer, ProgressRecorder } from '../../../../../web/src/reader/shared/progress-recorder.ts'

interface Elsewhere {
  page: number
  updatedAt: string
}

/** A recorder with a server that answers as the test says, after a moment. */
function openRecorder({
  basedOn = null,
  from = null,
  isIncognito = false,
  onLeaving = null,
  isSameUser = () => true,
}: {
  basedOn?: string | null
  from?: number | null
  isIncognito?: boolean
  onLeaving?: number | null
  isSameUser?: () => boolean
} = {}) {
  const sent: { page: number; basedOn: string | null | undefined; keepalive: boolean }[] = []
  const kept: unknown[] = []
  const conflicts: Elsewhere[] = []
  const answers: (Answer<Elsewhere> | Promise<Answer<Elsewhere>>)[] = []
  const recorder = new ProgressRecorder<number, Elsewhere>({
    ...{ basedOn, from, isIncognito, onLeaving, isSameUser },
    isSamePlace: ({ page }, sent) => page === sent,
    async send(page, request) {
      sent.push({ page, ...request })
      return answers.shift() ?? { kind: 'recorded', updatedAt: `time of ${page}` }
    },
    keep: (unsent) => kept.push(unsent),
    onConflict: (elsewhere) => conflicts.push(elsewhere),
    onRefused: () => {},
    onWaiting: () => {},
  })
  const move = (page: number) => recorder.moved({ sent: page, isStart: page === 1 })
  const pages = () => sent.map(({ page }) => page)
  return { recorder, sent, kept, conflicts, answers, move, pages }
}

/** The answer of `send` comes in a later turn of the event loop. */
const turns = async () => {
  for (let index = 0; index < 5; index++) await Promise.resolve()
}

t.test('leafing records the last place, a while after the last turn', async (t) => {
  const { move, pages, recorder } = openRecorder()
  for (const page of [2, 3, 4]) move(page)
  t.same(pages(), [], 'not during the turns')
  // Longer than the 800 ms after the last turn.
  await sleep(1_200)
  t.same(pages(), [4])
  recorder.leave()
  t.same(pages(), [4], 'nothing is left to send')
})

t.test('the first page alone does not begin a book, but a return to it is recorded', async (t) => {
  const { move, pages, recorder } = openRecorder()
  move(1)
  recorder.flush()
  t.same(pages(), [])
  move(2)
  move(1)
  recorder.flush()
  t.same(pages(), [1])
})

t.test('each place says what it is based on', async (t) => {
  const { move, sent, recorder } = openRecorder({ basedOn: 'start' })
  move(5)
  recorder.flush()
  await turns()
  move(6)
  recorder.flush()
  t.same(
    sent.map(({ basedOn }) => basedOn),
    ['start', 'time of 5'],
  )
})

t.test('leaving sends what is left as the page ends, also beside a running request', async (t) => {
  const { move, sent, recorder, kept } = openRecorder({ basedOn: 'start' })
  move(5)
  recorder.flush()
  move(6)
  recorder.leave()
  t.same(sent[1], { page: 6, basedOn: undefined, keepalive: true })
  t.same(kept[0], { sent: 6, basedOn: 'start' }, 'and keeps it in case it does not arrive')
})

t.test('the only page of a book is read when it is left', async (t) => {
  const { pages, recorder } = openRecorder({ onLeaving: 1 })
  recorder.leave()
  t.same(pages(), [1])
  const incognito = openRecorder({ onLeaving: 1, isIncognito: true })
  incognito.recorder.leave()
  t.same(incognito.pages(), [])
})

t.test('without a connection the latest place is kept and sent later', async (t) => {
  const { move, pages, kept, answers, recorder } = openRecorder()
  answers.push({ kind: 'later' })
  move(7)
  recorder.flush()
  await turns()
  t.same(kept.at(-1), { sent: 7, basedOn: null })
  move(8)
  recorder.flush()
  await turns()
  t.same(pages(), [7, 8])
  t.equal(kept.at(-1), null)
})

t.test('a newer place of another device is asked about, and nothing is sent before the answer', async (t) => {
  const { move, sent, conflicts, answers, recorder } = openRecorder({ basedOn: 'old' })
  const elsewhere = { page: 41, updatedAt: 'new' }
  answers.push({ kind: 'conflict', elsewhere })
  move(12)
  recorder.flush()
  await turns()
  t.same(conflicts, [elsewhere])
  move(13)
  recorder.flush()
  t.equal(sent.length, 1)
  recorder.settle('mine', 'new')
  recorder.flush()
  t.same(sent[1], { page: 13, basedOn: 'new', keepalive: false })
  recorder.leave()
})

t.test('a place that was recorded, but whose answer was lost, is not taken for one of another device', async (t) => {
  const { move, sent, conflicts, answers, recorder } = openRecorder({ basedOn: 'old' })
  answers.push({ kind: 'later' }, { kind: 'later' }, { kind: 'conflict', elsewhere: { page: 7, updatedAt: 'own' } })
  for (const page of [7, 8, 9]) {
    move(page)
    recorder.flush()
    await turns()
  }
  recorder.flush()
  t.same(conflicts, [])
  t.same(sent.at(-1), { page: 9, basedOn: 'own', keepalive: false })
  recorder.leave()
})

t.test('a place that was kept, and sent by another tab, is not taken for one of another device', async (t) => {
  const { move, sent, kept, conflicts, answers, recorder } = openRecorder({ basedOn: 'old' })
  answers.push({ kind: 'later' }, { kind: 'conflict', elsewhere: { page: 8, updatedAt: 'other tab' } })
  move(7)
  recorder.flush()
  move(8)
  await turns()
  t.same(kept.at(-1), { sent: 8, basedOn: 'old' })
  move(9)
  recorder.flush()
  await turns()
  recorder.flush()
  t.same(conflicts, [])
  t.same(sent.at(-1), { page: 9, basedOn: 'other tab', keepalive: false })
  recorder.leave()
})

t.test('the place from which reading starts, and the last recorded one, may be recorded again meanwhile', async (t) => {
  const { move, sent, conflicts, answers, recorder } = openRecorder({ basedOn: 'start', from: 5 })
  answers.push({ kind: 'conflict', elsewhere: { page: 5, updatedAt: 'start again' } })
  move(6)
  recorder.flush()
  await turns()
  recorder.flush()
  t.same(sent.at(-1), { page: 6, basedOn: 'start again', keepalive: false })
  await turns()
  answers.push({ kind: 'conflict', elsewhere: { page: 6, updatedAt: '6 again' } })
  move(7)
  recorder.flush()
  await turns()
  recorder.flush()
  t.same(sent.at(-1), { page: 7, basedOn: '6 again', keepalive: false })
  t.same(conflicts, [])
  recorder.leave()
})

t.test('who continues elsewhere keeps the other place', async (t) => {
  const { move, sent, answers, recorder } = openRecorder({ basedOn: 'old' })
  answers.push({ kind: 'conflict', elsewhere: { page: 41, updatedAt: 'new' } })
  move(12)
  recorder.flush()
  await turns()
  recorder.settle('theirs', 'new')
  recorder.leave()
  t.equal(sent.length, 1)
})

t.test('a book that is marked as unread is not begun again by what waits, by leaving or by its start', async (t) => {
  const { move, sent, kept, recorder } = openRecorder({ basedOn: 'start', onLeaving: 1 })
  move(7)
  await recorder.forget(async () => {})
  t.equal(kept.at(-1), null)
  move(1)
  recorder.leave()
  t.same(sent, [])
})

t.test('a book is marked as unread after the request that is under way, and nothing is sent meanwhile', async (t) => {
  const { move, pages, answers, recorder } = openRecorder()
  let answer = (_answer: Answer<Elsewhere>): void => {}
  const slow = new Promise<Answer<Elsewhere>>((resolve) => {
    answer = resolve
  })
  answers.push(slow)
  const marks: (readonly number[])[] = []
  move(7)
  recorder.flush()
  move(8)
  const forgotten = recorder.forget(async () => {
    recorder.flush()
    marks.push(pages())
  })
  await turns()
  t.same(marks, [], 'the request is not answered yet')
  answer({ kind: 'recorded', updatedAt: 'time of 7' })
  await forgotten
  t.same(marks, [[7]])
  recorder.leave()
  t.same(pages(), [7])
})

t.test('when a book cannot be marked as unread, its place is sent as usual', async (t) => {
  const { move, pages, recorder } = openRecorder()
  move(7)
  const refuse = async () => {
    throw new Error('refused')
  }
  await t.rejects(recorder.forget(refuse), { message: 'refused' })
  recorder.leave()
  t.same(pages(), [7])
})

t.test('incognito records nothing, from the moment it is chosen', async (t) => {
  const { move, pages, recorder } = openRecorder()
  move(2)
  recorder.setIncognito(true)
  move(3)
  recorder.leave()
  t.same(pages(), [])
})

t.test('when another user has signed in, what was read before is kept and not sent as theirs', async (t) => {
  let user = 'rita'
  const { move, pages, kept, answers, recorder } = openRecorder({ isSameUser: () => user === 'rita' })
  answers.push({ kind: 'later' })
  move(7)
  recorder.flush()
  await turns()
  move(8)
  user = 'otto'
  recorder.leave()
  await turns()
  t.same(pages(), [7])
  t.same(kept.at(-1), { sent: 8, basedOn: null })
})
