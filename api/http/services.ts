import type { AccountServices } from '#api/areas/account.ts'
import type { ContentServices } from '#api/areas/content.ts'
import type { DataServices } from '#api/areas/data.ts'
import type { EventServices } from '#api/areas/events.ts'
import type { HealthServices } from '#api/areas/health.ts'
import type { PluginServices } from '#api/areas/plugins.ts'
import type { TemplateServices } from '#api/areas/templates.ts'
import type { WorkServices } from '#api/areas/work.ts'

/** All services of the routes; api/compose.ts assembles them once. A module of routes names those that it calls, by their areas (api/areas). */
export interface Services
  extends DataServices,
    AccountServices,
    EventServices,
    WorkServices,
    ContentServices,
    PluginServices,
    TemplateServices,
    HealthServices {}
