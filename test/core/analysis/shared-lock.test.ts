import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSharedLock } from '#core/analysis/shared-lock.ts'

t.test('many share the lock or one holds it exclusively, in the order of arrival', async (t) => {
  const lock = openSharedLock()
  const said: string[] = []
  const gates = new Map<string, () => void>()
  const work = (name: string) => async () => {
    said.push(name)
    await new Promise<void>((resolve) => gates.set(name, resolve))
    said.push(`${name} ends`)
  }
  const first = lock.shared(work('a'))
  const second = lock.shared(work('b'))
  const alone = lock.exclusive(work('alone'))
  const after = lock.shared(work('c'))
  await sleep(5)
  t.same(said, ['a', 'b'], 'two share it; callers behind an exclusive one wait too')
  gates.get('a')?.()
  await first
  await sleep(5)
  t.same(said, ['a', 'b', 'a ends'])
  gates.get('b')?.()
  await second
  await sleep(5)
  t.same(said.slice(3), ['b ends', 'alone'])
  gates.get('alone')?.()
  await alone
  await sleep(5)
  gates.get('c')?.()
  await after
  t.same(said.slice(5), ['alone ends', 'c', 'c ends'])
})

t.test('a caller that stops waiting lets the next one in, and failed work releases the lock', async (t) => {
  const lock = openSharedLock()
  let release = () => {}
  const held = lock.shared(() => new Promise<void>((resolve) => (release = resolve)))
  const control = new AbortController()
  const waiting = lock.exclusive(async () => 'never', control.signal)
  const behind = lock.shared(async () => 'in')
  control.abort(new Error('given up'))
  await t.rejects(waiting, { message: 'given up' })
  t.equal(await behind, 'in')
  release()
  await held
  await t.rejects(
    lock.exclusive(async () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
  t.equal(await lock.exclusive(async () => 'free'), 'free')
  await t.rejects(
    lock.shared(async () => 'no', AbortSignal.abort(new Error('before'))),
    { message: 'before' },
  )
})
