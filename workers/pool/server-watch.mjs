// @ts-check
// Waits, in a thread of its own, for the end of a pipe that only the server holds: it ends when the server does, however that ends.
// Plain JavaScript: a thread that has to strip types starts in twice the time.
import { readSync } from 'node:fs'

try {
  while (readSync(4, Buffer.alloc(1)) > 0);
} catch {
  // A pipe that cannot be read says as much as one that has ended.
}
process.kill(process.pid, 'SIGKILL')
