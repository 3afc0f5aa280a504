import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import type { components } from '#api/schema.d.ts'

export type ScanRecord = components['schemas']['ScanStatus']

/** Events tell when a scan begins and how far it is; this is for those that were missed. */
const POLL_MS = 15_000

/** Waiting and running scans of the libraries that the user sees. */
export const activeScansQuery = queryOptions({
  queryKey: ['scans', 'active'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/scans/active', { signal })),
  refetchInterval: POLL_MS,
})

/** The latest scan of a library. */
export const scanQuery = (libraryId: string) =>
  queryOptions({
    queryKey: ['scans', libraryId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/libraries/{libraryId}/scan-status', { params: { path: { libraryId } }, signal })),
  })

/** Books that wait for their analysis, without those whose files look incomplete: they wait for minutes, and nothing is done meanwhile. */
export const toAnalyze = ({ pendingAnalysis, incomplete = 0 }: ScanRecord): number => Math.max(0, pendingAnalysis - incomplete)

/** Whether a scan still finds files or has books that wait for their analysis. */
export const isScanning = (scan: ScanRecord): boolean =>
  scan.status === 'pending' || scan.status === 'processing' || (scan.status === 'completed' && toAnalyze(scan) > 0)

/** How much of a scan is done, from 0 to 1: looking at the files is short, analyzing the books is long. Null while nobody can know. */
export function scanShare(scan: ScanRecord): number | null {
  const { status, filesTotal, filesProcessed, booksFound } = scan
  const rest = toAnalyze(scan)
  if (status !== 'pending' && status !== 'processing' && rest === 0) return 1
  const total = Math.max(filesTotal, booksFound)
  if (total === 0 || filesProcessed < filesTotal) return filesTotal === 0 ? null : (filesProcessed / filesTotal) * 0.1
  return 0.1 + 0.9 * (1 - Math.min(rest, total) / total)
}

export const cancelScan = (libraryId: string) =>
  ask(api.POST('/api/v1/libraries/{libraryId}/scan/cancel', { params: { path: { libraryId } } }))
