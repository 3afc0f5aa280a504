import t from 'tap'
import { fileReason } from '#plugins/devkit/command.ts'

t.test('why a file cannot be read or written is said in words where the code does not say it', async (t) => {
  const of = (code: string) => Object.assign(new Error('x'), { code })
  for (const [code, said] of [
    ['EACCES', 'EACCES: your user has no permission'],
    ['ENOSPC', 'ENOSPC: the disk is full'],
    ['ENOENT', 'ENOENT'],
    ['ENOTDIR', 'ENOTDIR'],
  ] as const)
    t.equal(fileReason(of(code)), said)
  t.equal(fileReason(of('ENOENT'), 'ENOENT: its folder does not exist'), 'ENOENT: its folder does not exist')
  t.equal(fileReason(new Error('x')), 'unknown')
})
