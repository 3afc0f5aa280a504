import { OutsideError } from '#core/foundation/open-inside.ts'

const EXCHANGED = 'it was replaced by a link or something else during the scan'

export const NOT_UTF8 = 'its name is not valid UTF-8: rename it'

const REASONS: Record<string, string> = {
  EACCES: 'the server may not read it (check its owner and permissions)',
  EPERM: 'the server may not read it (check its owner and permissions)',
  ENOENT: 'it vanished during the scan',
  ENOTDIR: 'it is not a folder any more',
  EIO: 'the disk reported a read error',
  ELOOP: EXCHANGED,
  ENAMETOOLONG: 'its path is too long',
  ESTALE: 'the network drive lost it',
  ETIMEDOUT: 'the network drive did not answer',
}

/** Why a path could not be read, in words. */
export function reasonOf(error: unknown, name: string): string {
  if (error instanceof OutsideError) return EXCHANGED
  const { code = '', message } = error as NodeJS.ErrnoException
  // Node decodes names as UTF-8 and replaces invalid bytes with U+FFFD; such a path does not lead back to the file.
  if (code === 'ENOENT' && name.includes('\uFFFD')) return NOT_UTF8
  return REASONS[code] ?? message
}
