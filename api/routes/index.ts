import type { Route } from '#api/http/endpoint.ts'
import { apiKeyRoutes } from '#api/routes/api-keys.ts'
import { authRoutes } from '#api/routes/auth.ts'
import { healthRoutes } from '#api/routes/health.ts'
import { infoRoutes } from '#api/routes/info.ts'
import { setupRoutes } from '#api/routes/setup.ts'
import { userRoutes } from '#api/routes/users.ts'
import type { Services } from '#api/services.ts'

/** The whole API as one list. The OpenAPI document is made from it, and a test walks it. */
export const routes: readonly Route<Services>[] = [
  ...healthRoutes,
  ...infoRoutes,
  ...setupRoutes,
  ...authRoutes,
  ...userRoutes,
  ...apiKeyRoutes,
]
