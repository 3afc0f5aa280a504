import { shelfRoutes } from '#api/rest/catalog/shelves.ts'

export const collectionRoutes = shelfRoutes('collection')
