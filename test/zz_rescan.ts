import t from 'tap'
import { readdirSync, statSync, mkdirSync, writeFileSync } from 'node:fs'
import { openTestDatabase } from '#test/support/database.ts'
import { openTaskQueue } from '#core/task/task-queue.ts'
import { openScans } from '#core/library/scans.ts'
import { silentLog } from '#core/log.ts'
import { readFileSync } from 'node:fs'
t.setTimeout(280000)
const root='/tmp/walkbench/lib2'
function bareWalk(path: string): number { let count = 0; for (const entry of readdirSync(path, { withFileTypes: true })) { const full = `${path}/${entry.name}`; if (entry.isDirectory()) count += bareWalk(full); else if (statSync(full).isFile()) count += 1 } return count }
const rss = () => Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status','utf8'))![1])/1024
t.test('x', { timeout: 280000 }, async (t) => {
  const { database } = await openTestDatabase(t)
  const tasks = await openTaskQueue({ database, log: {...silentLog, error: (f,m)=>console.log(f,m), warn: (f,m)=>console.log(f,m)}, nodeId: 'b' })
  const scans = await openScans({ database, tasks, log: {...silentLog, warn: (f,m)=>console.log(f,m)}, dataFolder: '/tmp/walkbench/data' })
  t.teardown(() => tasks.stop())
  await tasks.start()
  const [l] = await database('libraries').insert({ name: 'x', path: root }, ['id'])
  const scan = async () => { await scans.start(l.id); for (;;) { const s = await scans.getStatus(l.id); if (s.status==='completed'||s.status==='failed') return s; await new Promise(r=>setTimeout(r,20)) } }
  console.log('rss before', rss().toFixed(0))
  let maxLag = 0; let last = performance.now(); const lag = setInterval(() => { const n = performance.now(); maxLag = Math.max(maxLag, n-last-10); last = n }, 10)
  let t0 = performance.now(); const c0 = process.cpuUsage(); let s = await scan(); const c1 = process.cpuUsage(c0); console.log('first scan', (performance.now()-t0).toFixed(0), 'cpu', ((c1.user+c1.system)/1000).toFixed(0), s.filesTotal, s.errors, 'rss', rss().toFixed(0), 'max event loop lag', maxLag.toFixed(0)); clearInterval(lag)
  await database.raw(`update books set state='analyzed'`); await database.raw(`delete from pgboss.job where name='analyze_book'`); await database.raw('vacuum analyze')
  for (let i=0;i<15;i++) { t0=performance.now(); bareWalk(root); const b = performance.now()-t0; const cpu = process.cpuUsage(); s = await scan(); const u = process.cpuUsage(cpu); const r = Date.parse(s.completedAt!)-Date.parse(s.startedAt); console.log('bare', b.toFixed(0), 'rescan', r, (r/b).toFixed(2), 'cpu', ((u.user+u.system)/1000).toFixed(0)) }
  console.log('rss', rss().toFixed(0))
})
