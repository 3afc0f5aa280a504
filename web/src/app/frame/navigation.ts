import { useQuery } from '@tanstack/react-query'
import {
  BookHeart,
  Heart,
  History,
  House,
  Layers,
  Library,
  ListOrdered,
  type LucideIcon,
  Search,
  Settings,
  Sparkles,
  Tag,
  User,
  Users,
} from 'lucide-react'
import { myPluginsQuery } from '#api/plugins.ts'
import type { Address } from '#app/addresses.ts'
import { hasPage } from '#app/page-list.ts'
import { appTexts } from '#texts/app.ts'

export interface Place {
  href: string
  icon: LucideIcon
  text: () => string
}

/** Only what works is shown: places whose address has a page. */
const withPage = (places: readonly (Place & { address?: Address })[]): Place[] =>
  places.filter(({ href, address }) => hasPage(address ?? (href as Address)))

const LIST_PLACES = withPage([
  { href: '/', icon: House, text: appTexts.home },
  { href: '/want-to-read', icon: Heart, text: appTexts.wantToRead },
  { href: '/recommendations', icon: Sparkles, text: appTexts.recommendations },
  { href: '/collections', icon: Layers, text: appTexts.collections },
  { href: '/read-lists', icon: ListOrdered, text: appTexts.readLists },
])

export const BROWSE_PLACES = withPage([
  { href: '/people', icon: Users, text: appTexts.people },
  { href: '/tags', icon: Tag, text: appTexts.tags },
  { href: '/history', icon: History, text: appTexts.history },
])

export const ADMIN_SECTIONS = withPage([
  { href: '/admin/libraries', address: '/admin/:section', icon: Settings, text: appTexts.administration },
])

/** Of phones: five fit at 360 px. */
export const BOTTOM_PLACES = withPage([
  { href: '/', icon: House, text: appTexts.home },
  { href: '/libraries', icon: Library, text: appTexts.library },
  { href: '/search', icon: Search, text: appTexts.search },
  { href: '/read-lists', icon: BookHeart, text: appTexts.lists },
  { href: '/profile', icon: User, text: appTexts.you },
])

/** Whether a path is this place or below it. */
export const isAt = (path: string, href: string): boolean => path === href || (href !== '/' && path.startsWith(`${href}/`))

/** What belongs to the user: recommendations only where a plugin makes them, or could. */
export function useListPlaces(): Place[] {
  const { enabled = [], available = [] } = useQuery(myPluginsQuery).data ?? {}
  const hasRecommendations = [...enabled, ...available].some(({ capabilities }) => capabilities.userRecommendationProvider)
  return LIST_PLACES.filter(({ href }) => href !== '/recommendations' || hasRecommendations)
}

/** Places that the bottom bar of phones has no room for. */
export function usePlacesOfPhoneMenu(isAdmin: boolean): Place[] {
  const places = [...useListPlaces(), ...BROWSE_PLACES, ...(isAdmin ? ADMIN_SECTIONS : [])]
  return places.filter(({ href }) => !BOTTOM_PLACES.some((place) => place.href === href))
}
