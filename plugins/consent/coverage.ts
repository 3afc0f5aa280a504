import type { ConsentDifference } from '#plugins/consent/differences.ts'
import type { ConsentRecord } from '#plugins/consent/record.ts'
import { covers } from '#plugins/packages/permissions.ts'

/** Entries and members that only allow something: without them a package can cause less. */
const ONLY_ALLOW = [
  /^\/manifest\/permissions\/(network\/[^/]+(\/methods\/[^/]+)?|networkFromConfig\/[^/]+|library\/[^/]+|storage)$/,
  /^\/manifest\/capabilities\/([^/]+(\/(methods|languages)\/[^/]+)?|webLinks\/(hosts\/)?[^/]+)$/,
  /^\/manifest\/auth(\/oauth2\/scopes\/[^/]+)?$/,
  /^\/manifest\/(config|userConfig)\/([^/]+|properties\/[^/]+)$/,
]
/** Numbers that say how much a package may use. Each version has its own data, so that an earlier one finds its own. */
const ONLY_LIMIT =
  /^\/manifest\/(limits\/(heapMB|cpuMs|wallMs)|permissions\/storage\/quotaKB|dataVersion|http\/rateLimit\/[^/]+\/(perMinute|burst|maxParallel))$/
const RATE = /^\/manifest\/http\/rateLimit\/([^/]+)$/

/**
 * Whether a package can cause nothing beyond what was agreed to. What is not known to be less counts as more.
 * @param differences from what was agreed to, to the record of the package
 */
export function isCovered({ manifest }: ConsentRecord, differences: readonly ConsentDifference[]): boolean {
  const { network = [], networkFromConfig = [] } = manifest.permissions ?? {}
  const reaches = (limited: string) =>
    networkFromConfig.length > 0 || network.some(({ host }) => covers(host, limited) || covers(limited, host))
  return differences.every(({ path, kind, before, after }) => {
    if (kind === 'changed') return ONLY_LIMIT.test(path) && Number(after) < Number(before)
    const [, limited] = RATE.exec(path) ?? []
    // The limit of a host that the package cannot contact, neither by a wildcard nor as what an administrator enters.
    if (limited !== undefined) return kind === 'removed' && !reaches(limited)
    return kind === 'removed' && ONLY_ALLOW.some((place) => place.test(path))
  })
}
