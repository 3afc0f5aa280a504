import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { onlyFull } from '#test/support/lane-size.ts'
import { comic, until } from '#test/support/library-fixture.ts'
import { awaitScan, type RunningServer, startServer } from '#test/support/running-server.ts'

t.setTimeout(240_000)

const FILES = 40

interface Task {
  id: string
  status: string
  progress?: { current: number }
  result: { verified?: number; skipped?: boolean } | null
}

t.test('a verification that is requested twice and killed goes on as one task, and reads no file twice', onlyFull, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-verify-'))
  const library = join(folder, 'library')
  mkdirSync(join(library, 'Saga'), { recursive: true })
  // A hundred kilobytes each: forty files take twenty seconds at the rate below.
  for (let n = 1; n <= FILES; n++) writeFileSync(join(library, `Saga/${n}.cbz`), comic(`${n} ${'x'.repeat(60_000)}`, 400))
  const start = () => startServer({ dataFolder: join(folder, 'data'), args: ['--library', library] })
  let server = await start()
  t.teardown(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const { data } = await server.get<{ data: { id: string }[] }>('/api/v1/libraries')
  const id = data[0]?.id as string
  await awaitScan(server, id, { analyzed: true, timeoutMs: 60_000 })
  const setRate = async (value: string) => {
    const answer = await fetch(`${server.url}/api/v1/admin/settings/verification.megabytes_per_second`, {
      method: 'PUT',
      headers: { ...server.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    })
    t.equal(answer.status, 200, await answer.text())
  }
  await setRate('1')
  const request = async () => (await server.post<{ taskId: string }>(`/api/v1/libraries/${id}/verify`)).taskId
  const find = (of: RunningServer, taskId: string) => of.get<Task>(`/api/v1/tasks/${taskId}`)
  const asked = await Promise.all([request(), request(), request()])
  const taskId = asked[0] as string
  t.equal(new Set(asked).size, 1)
  await until(async () => ((await find(server, taskId)).progress?.current ?? 0) >= 3)
  t.equal(await request(), taskId, 'while it runs')
  await server.kill()
  server = await start()
  t.equal(await request(), taskId, 'after a kill')
  await setRate('0')
  const { result } = await until(async () => {
    const task = await find(server, taskId)
    return task.status === 'completed' && task
  })
  t.ok((result?.verified ?? FILES) < FILES, `it has continued: ${result?.verified}`)
  const all = await server.get<Task[]>('/api/v1/tasks?taskType=verify_library')
  t.equal(all.filter((one) => one.result?.skipped !== true).length, 1)
})
