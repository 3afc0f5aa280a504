import type { Problem } from '#core/fields/analysis.ts'
import { OutsideError } from '#core/foundation/open-inside.ts'
import { isSystemError } from '#core/reading/file-problems.ts'

const MESSAGES: Record<string, string> = {
  ENOENT: 'The file is gone.',
  ENOTDIR: 'The file is gone.',
  EACCES: 'Carrel has no permission to read this file. Grant its account read access.',
  EPERM: 'Carrel has no permission to read this file. Grant its account read access.',
  EISDIR: 'This is a folder, not a file.',
  EIO: 'The disk or network share returned an error for this file.',
  ESTALE: 'The network share of this file was replaced or remounted. Mount it again.',
  ELOOP: 'The symbolic links in the path of this file form a loop.',
  EMFILE: 'Too many files are open; raise the limit of open files (ulimit -n).',
  ENFILE: 'Too many files are open on this machine; raise its limit of open files (fs.file-max).',
}

/** An error of the file system as a problem of the book. Any other error is a bug and is rethrown. */
export function fileRefusal(error: unknown): Problem {
  if (error instanceof OutsideError) {
    return {
      type: 'other',
      message: 'This is not a regular file inside its library. Links in place of books are not followed.',
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
