/** What parameters tell that say nothing of themselves where they are used: they mean the same wherever they stand. */
const MEANINGS: Readonly<Record<string, string>> = {
  category: 'Only settings of this category.',
  code: 'What the service gives for tokens.',
  error: 'What went wrong at the service, in its word.',
  errorType: 'Only books with an error of this type.',
  externalId: 'Id of the series at the service of the plugin.',
  granularity: 'How long each span is.',
  key: 'Name of what is kept.',
  limit: 'How many at most.',
  mode: 'Whether files that have not changed are read again, too.',
  name: 'Name of the plugin.',
  offset: 'How many to leave out.',
  role: 'Only users of this role.',
  scope: 'Where an action is offered.',
  sharingTagMode: 'Only users whom the sharing tag allows or denies something.',
  state: 'What this server gave the browser to take along.',
  status: 'Only those with this status.',
  taskType: 'Only tasks of this type.',
  type: 'Only those of this type.',
}

/** What a parameter tells that does not say so itself: an id names a record, in the query a list is narrowed to it. Undefined where nothing is known. */
export function meaningOf(place: 'path' | 'query', name: string): string | undefined {
  if (name in MEANINGS) return MEANINGS[name]
  const [, record] = /^(\w+)Id$/.exec(name) ?? []
  if (record === undefined) return undefined
  const words = record.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return place === 'path' ? `Id of the ${words}.` : `Only those of this ${words}.`
}
