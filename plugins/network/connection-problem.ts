/** What went wrong with a connection, as a sentence for a plugin. The codes are those of Node and its HTTP parser; a plugin learns nothing about certificates. */
export function describeConnectionProblem(host: string, error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'HPE_HEADER_OVERFLOW') return `${host} sent larger headers than are accepted.`
  if (code.startsWith('HPE_')) return `${host} sent something that is not a valid HTTP response.`
  if (code === 'ECONNRESET' || code === 'EPIPE') return `${host} closed the connection before its response was complete.`
  return `${host} is unreachable.`
}
