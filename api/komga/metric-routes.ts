import Type, { type Static } from 'typebox'
import type { DataServices } from '#api/areas/data.ts'
import type { WorkServices } from '#api/areas/work.ts'
import type { Call } from '#api/http/endpoint.ts'
import { komgaEndpointOf } from '#api/komga/route.ts'
import { readInventory } from '#core/catalog/inventory-query.ts'
import { readKeptTotal } from '#core/catalog/kept-total-query.ts'
import { listLibraries } from '#core/catalog/library-query.ts'
import { refuse } from '#core/foundation/errors.ts'
import { listShelves } from '#core/shelves/shelf-query.ts'
import { readTaskReport } from '#core/tasks/task-report.ts'

type Services = Pick<DataServices, 'database'> & Pick<WorkServices, 'taskMetrics'>
const komgaEndpoint = komgaEndpointOf<Services>()

const Metric = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    baseUnit: Type.String(),
    measurements: Type.Array(Type.Object({ statistic: Type.String(), value: Type.Number() })),
    availableTags: Type.Array(Type.Object({ tag: Type.String(), values: Type.Array(Type.String()) })),
  },
  { title: 'KomgaMetric' },
)
type Reading = Pick<Static<typeof Metric>, 'measurements'>

/** As many as a list of libraries shows. */
const LIBRARIES_MAX = 1_000

const value = (number: number): Reading => ({ measurements: [{ statistic: 'VALUE', value: number }] })

/** A number that the server keeps, of all that the caller sees, or of one library. */
async function keptCount({ services: { database }, caller }: Call<Services>, of: 'books' | 'series', libraryId?: string): Promise<Reading> {
  return value(await readKeptTotal(database, caller, { of, libraryId }))
}

async function fileBytes({ services: { database }, caller }: Call<Services>, libraryId?: string): Promise<Reading> {
  const { totalBookSize, libraries } = await readInventory(database, caller)
  return value(libraryId === undefined ? totalBookSize : (libraries.find(({ id }) => id === libraryId)?.totalSize ?? 0))
}

async function shelfCount({ services: { database }, caller }: Call<Services>, kind: 'collection' | 'read_list'): Promise<Reading> {
  return value((await listShelves(database, caller, kind, { offset: 0, limit: 1 })).total)
}

const libraryIds = async ({ services: { database }, caller }: Call<Services>): Promise<string[]> =>
  (await listLibraries(database, caller, { offset: 0, limit: LIBRARIES_MAX })).items.map(({ id }) => id)

async function taskTypes({ services, caller }: Call<Services>) {
  await services.taskMetrics.write()
  return (await readTaskReport(services.database, caller)).byType
}

async function taskTimes(call: Call<Services>, type?: string): Promise<Reading> {
  const types = (await taskTypes(call)).filter(({ taskType }) => type === undefined || taskType === type)
  const seconds = types.reduce((sum, { executed, avgDurationMs }) => sum + (executed * avgDurationMs) / 1000, 0)
  const longest = Math.max(0, ...types.map(({ maxDurationMs }) => maxDurationMs)) / 1000
  const count = types.reduce((sum, { executed }) => sum + executed, 0)
  return {
    measurements: [
      { statistic: 'COUNT', value: count },
      { statistic: 'TOTAL_TIME', value: seconds },
      { statistic: 'MAX', value: longest },
    ],
  }
}

async function taskFailures(call: Call<Services>, type?: string): Promise<Reading> {
  const types = (await taskTypes(call)).filter(({ taskType }) => type === undefined || taskType === type)
  return { measurements: [{ statistic: 'COUNT', value: types.reduce((sum, { failed }) => sum + failed, 0) }] }
}

interface Meter {
  description: string
  baseUnit: string
  /** The tag by which it can be divided. */
  tag?: 'library' | 'type'
  read(call: Call<Services>, tagged?: string): Promise<Reading>
}

const METERS: Readonly<Record<string, Meter>> = {
  'komga.tasks.execution': { description: 'Tasks that have run', baseUnit: 'seconds', tag: 'type', read: taskTimes },
  'komga.tasks.failure': { description: 'Tasks that have failed', baseUnit: 'count', tag: 'type', read: taskFailures },
  'komga.libraries': { description: 'Libraries', baseUnit: 'count', read: async (call) => value((await libraryIds(call)).length) },
  'komga.series': { description: 'Series', baseUnit: 'count', tag: 'library', read: (call, id) => keptCount(call, 'series', id) },
  'komga.books': { description: 'Books', baseUnit: 'count', tag: 'library', read: (call, id) => keptCount(call, 'books', id) },
  'komga.books.filesize': { description: 'Size of the files of books', baseUnit: 'bytes', tag: 'library', read: fileBytes },
  'komga.sidecars': {
    description: 'Files beside books; this server keeps no number of them',
    baseUnit: 'count',
    tag: 'library',
    read: async () => value(0),
  },
  'komga.collections': { description: 'Collections', baseUnit: 'count', read: (call) => shelfCount(call, 'collection') },
  'komga.readlists': { description: 'Read lists', baseUnit: 'count', read: (call) => shelfCount(call, 'read_list') },
}

export const komgaMetricRoutes = [
  komgaEndpoint({
    method: 'GET',
    path: '/actuator/metrics',
    summary: 'The names of the metrics',
    who: 'system-admin',
    reply: Type.Object({ names: Type.Array(Type.String()) }),
    run: async () => ({ names: Object.keys(METERS) }),
  }),
  komgaEndpoint({
    method: 'GET',
    path: '/actuator/metrics/:name',
    summary: 'One metric, of all libraries or tasks, or of one of them',
    who: 'system-admin',
    params: Type.Object({ name: Type.String({ maxLength: 100 }) }),
    query: Type.Object({
      tag: Type.Optional(
        Type.Array(Type.String({ maxLength: 200 }), { maxItems: 1, description: '`library:<id>` or `type:<type of a task>`.' }),
      ),
    }),
    reply: Metric,
    run: async (call, { params: { name }, query }) => {
      const meter = (Object.hasOwn(METERS, name) ? METERS[name] : undefined) ?? refuse('not_found', `There is no metric "${name}".`)
      const { description, baseUnit, tag } = meter
      const values =
        tag === undefined ? [] : tag === 'library' ? await libraryIds(call) : (await taskTypes(call)).map(({ taskType }) => taskType)
      const tagged = query.tag?.map(
        (text) => values.find((one) => text === `${tag}:${one}`) ?? refuse('not_found', 'Nothing has this tag.'),
      )[0]
      const availableTags = tag !== undefined && tagged === undefined ? [{ tag, values }] : []
      return { name, description, baseUnit, ...(await meter.read(call, tagged)), availableTags }
    },
  }),
]
