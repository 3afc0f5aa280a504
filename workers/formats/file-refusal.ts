import { OutsideError } from '#core/foundation/open-inside.ts'
import type { Problem } from '#core/metadata/analysis.ts'
import { isSystemError } from '#core/reading/file-faults.ts'

const MESSAGES: Record<string, string> = {
  ENOENT: 'The file is gone.',
  ENOTDIR: 'The file is gone.',
  EACCES: 'Carrel may not read this file: give its account the right to read it.',
  EPERM: 'Carrel may not read this file: give its account the right to read it.',
  EISDIR: 'This is a folder, not a file.',
  EIO: 'The disk or network share fails to deliver this file.',
  ESTALE: 'The network share that holds this file was exchanged or mounted anew: mount it again.',
  ELOOP: 'The links among the folders above this file lead in a circle.',
  EMFILE: 'Too many files are open; raise the limit of open files (ulimit -n).',
  ENFILE: 'Too many files are open on this machine; raise its limit of open files (fs.file-max).',
}

/** What the file system refused, as a problem of the book. Anything that did not come from the file system is a bug, and thrown on. */
export function fileRefusal(error: unknown): Problem {
  if (error instanceof OutsideError) {
    return {
      type: 'other',
      message: 'This is not an ordinary file inside its library: links in the place of books are not followed.',
      fatal: true,
    }
  }
  if (!isSystemError(error)) throw error
  const code = String(error.code)
  return {
    type: 'other',
    message: MESSAGES[code] ?? `The file cannot be read (${code}).`,
    details: { code, syscall: error.syscall },
    fatal: true,
  }
}
