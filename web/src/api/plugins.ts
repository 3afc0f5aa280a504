import { queryOptions } from '@tanstack/react-query'
import { api, ask } from '#api/client.ts'
import { refresh } from '#api/reading.ts'
import type { components } from '#api/schema.d.ts'

type Schemas = components['schemas']
/** A plugin that the user has agreed to. */
export type MyPlugin = Schemas['UserPlugin']
/** A plugin that the user may agree to. */
export type OfferedPlugin = Schemas['AvailablePlugin']
export type RecommendationRecord = Schemas['Recommendation']

/** The plugins that run for the user, and those that could. */
export const myPluginsQuery = queryOptions({
  queryKey: ['my-plugins'],
  queryFn: ({ signal }) => ask(api.GET('/api/v1/user/plugins', { signal })),
})

const refreshPlugins = () => refresh(['my-plugins', 'recommendations'])
const of = (pluginId: string) => ({ params: { path: { pluginId } } })

/** Has a plugin run for the user. @param sha256 of the consent record that the user has read; another one is refused */
export async function agreeToPlugin(pluginId: string, sha256: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/user/plugins/{pluginId}/enable', { ...of(pluginId), body: { sha256 } }))
  await refreshPlugins()
}

/** Its data stay. */
export async function stopPlugin(pluginId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/user/plugins/{pluginId}/disable', of(pluginId)))
  await refreshPlugins()
}

/** Deletes all that it stored about the user, with its connection. */
export async function deletePluginData(pluginId: string): Promise<void> {
  await ask<unknown>(api.DELETE('/api/v1/user/plugins/{pluginId}', of(pluginId)))
  await refreshPlugins()
}

type Credentials = Schemas['PutMyPluginCredentialsBody']

export async function connectPlugin(pluginId: string, credentials: Credentials): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/user/plugins/{pluginId}/credentials', { ...of(pluginId), body: credentials }))
  await refreshPlugins()
}

/** @param config replaces all settings of the user but secret ones, which stay when they are left out */
export async function configurePlugin(pluginId: string, config: Record<string, unknown>): Promise<void> {
  const body = { config } as Schemas['PatchMyPluginConfigBody']
  await ask<unknown>(api.PATCH('/api/v1/user/plugins/{pluginId}/config', { ...of(pluginId), body }))
  await refreshPlugins()
}

/** @returns the address of the service at which the user signs in */
export async function startSignIn(pluginId: string): Promise<string> {
  return (await ask(api.POST('/api/v1/user/plugins/{pluginId}/oauth/start', of(pluginId)))).redirectUrl
}

/** Asks for the plugins again when the user comes back from the window of a service. */
export function whenBack(): void {
  addEventListener('focus', () => void refreshPlugins(), { once: true })
}

/** How often a list that is being made is asked for; the event that it is ready comes usually before. */
const POLL_MS = 5_000

export const recommendationsQuery = (pluginId: string) =>
  queryOptions({
    queryKey: ['recommendations', pluginId],
    queryFn: ({ signal }) => ask(api.GET('/api/v1/user/recommendations', { params: { query: { pluginId } }, signal })),
    refetchInterval: ({ state }) => (state.data?.taskStatus ? POLL_MS : false),
  })

export async function refreshRecommendations(pluginId: string): Promise<void> {
  await ask<unknown>(api.POST('/api/v1/user/recommendations/refresh', { params: { query: { pluginId } } }))
  await refresh(['recommendations'])
}

/** For good; sent also when the page is being left. */
export async function dismissRecommendation(pluginId: string, externalId: string): Promise<void> {
  const params = { path: { externalId }, query: { pluginId } }
  await ask<unknown>(api.POST('/api/v1/user/recommendations/{externalId}/dismiss', { params, body: {}, keepalive: true }))
  await refresh(['recommendations'])
}
