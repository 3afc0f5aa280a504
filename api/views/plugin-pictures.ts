import type { PluginServices } from '#api/areas/plugins.ts'
import type { Caller } from '#core/account/caller.ts'
import { COVER, type FieldPreview } from '#core/matching/proposal.ts'
import type { InstalledPlugin } from '#plugins/host/installed-plugin.ts'

interface Call {
  services: Pick<PluginServices, 'pluginPictures'>
  caller: Caller
}

/**
 * The address of a picture that a plugin has named in an answer to this caller; null when there is none to show.
 * @param ownId see PictureTokens
 */
export function pictureAddress(
  { services, caller }: Call,
  plugin: InstalledPlugin,
  url: string | null | undefined,
  ownId: string | null = null,
): string | null {
  const token = services.pluginPictures.tokenOf(url, { plugin, userId: caller.userId, ownId })
  return token === null ? null : addressOf(plugin, token)
}

/** An answer of a metadata function, with addresses of this server in place of its pictures. */
export const withPictureAddresses = <Answer>({ services, caller }: Call, plugin: InstalledPlugin, method: string, answer: Answer): Answer =>
  services.pluginPictures.show(method, answer, { plugin, userId: caller.userId, ownId: null }, (token) => addressOf(plugin, token))

/** The fields of a proposal, with the address of its cover for the caller; the server finds its own again when it applies the proposal. */
export async function withPictures(
  call: Call & { services: Pick<PluginServices, 'plugins'> },
  pluginId: string,
  fields: readonly FieldPreview[],
): Promise<FieldPreview[]> {
  const plugin = await call.services.plugins.get(pluginId)
  return fields.map((field) =>
    field.field === COVER ? { ...field, proposedValue: pictureAddress(call, plugin, field.proposedValue as string | null) } : field,
  )
}

const addressOf = ({ id }: InstalledPlugin, token: string) => `/api/v1/plugins/${id}/pictures/${token}`
