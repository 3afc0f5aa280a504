import { refuse } from '#core/foundation/errors.ts'
import { type LocalServices, NO_LOCAL_SERVICES } from '#core/settings/local-hosts.ts'
import { checkAddress } from '#plugins/network/request.ts'
import { isAllowedLocal, localHint } from '#plugins/network/rules.ts'
import { INDEX_NAME } from '#plugins/repositories/index-file.ts'
import { GuestError } from '#plugins/runtime/guest-error.ts'

const URL_LENGTH_MAX = 2_000

/**
 * The URL of the repository folder, with a trailing slash, from the URL of the folder or of the index in it.
 * @param local hosts that are allowed for development
 * @throws invalid_value unless it is an https URL with a host name
 */
export function repositoryFolder(text: string, local: LocalServices = NO_LOCAL_SERVICES): string {
  const wrong = (message: string) => refuse('invalid_value', message, { details: [{ path: '/url', message }] })
  if (text.length > URL_LENGTH_MAX || !URL.canParse(text)) return wrong('The URL of a repository must be the https URL of its folder.')
  const url = new URL(text)
  if (url.search !== '' || url.hash !== '') return wrong('The URL of a repository must not have a query or a fragment.')
  if (url.pathname.endsWith(`/${INDEX_NAME}`)) url.pathname = url.pathname.slice(0, -INDEX_NAME.length)
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  if (url.username === '' && url.password === '' && isAllowedLocal(url, local)) return url.href
  try {
    checkAddress({ url, method: 'GET', headers: {}, body: undefined, strayed: false }, [{ host: url.hostname, methods: ['GET'] }])
  } catch (error) {
    if (error instanceof GuestError) return wrong(`${error.message}${localHint(url, local)}`)
    throw error
  }
  return url.href
}
