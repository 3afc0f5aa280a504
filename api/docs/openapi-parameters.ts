/** Descriptions of parameters that have none in their schema, by name. */
const MEANINGS: Readonly<Record<string, string>> = {
  category: 'Only settings of this category.',
  code: 'The authorization code from the service, to exchange for tokens.',
  error: 'The error code of the service.',
  errorType: 'Only books with an error of this type.',
  externalId: 'Id of the series at the service of the plugin.',
  granularity: 'Length of each period.',
  key: 'Key of the value.',
  limit: 'Maximum number of entries.',
  mode: 'Whether unchanged files are analyzed again too.',
  name: 'Name of the plugin.',
  offset: 'Number of entries to skip.',
  role: 'Only users of this role.',
  scope: 'Page of the user interface that offers the action.',
  sharingTagMode: 'Only users with a grant of this mode.',
  state: 'The state value that this server gave the browser at the start of the sign-in.',
  status: 'Only entries with this status.',
  taskType: 'Only tasks of this type.',
  type: 'Only entries of this type.',
}

/** Derives the description of an id parameter from its name: in a path it identifies a record, in a query it filters. Undefined for other unknown names. */
export function meaningOf(place: 'path' | 'query', name: string): string | undefined {
  if (name in MEANINGS) return MEANINGS[name]
  const [, record] = /^(\w+)Id$/.exec(name) ?? []
  if (record === undefined) return undefined
  const words = record.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return place === 'path' ? `Id of the ${words}.` : `Only entries of this ${words}.`
}
