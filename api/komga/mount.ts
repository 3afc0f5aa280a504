import type { DataServices } from '#api/areas/data.ts'
import type { Mount } from '#api/http/mount.ts'
import { komgaDialect } from '#api/komga/dialect.ts'
import { OWN_PATH_WORDS } from '#core/settings/chosen-setting.ts'
import { readFreshSetting } from '#core/settings/chosen-setting-store.ts'

const firstWordOf = (path: string): string => path.split('/', 2)[1] ?? ''

/** Komga's API, under a path prefix that administrators choose while the server runs; off by default. */
export const komgaMount: Mount<Pick<DataServices, 'database'>> = {
  dialect: komgaDialect,
  covers: (path) => !OWN_PATH_WORDS.includes(firstWordOf(path).toLowerCase()),
  isOpen: async (path, { database }) =>
    (await readFreshSetting(database, 'compatibilityApi.enabled')) === 'true' &&
    (await readFreshSetting(database, 'compatibilityApi.prefix')) === firstWordOf(path),
}
