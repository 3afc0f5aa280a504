import { type ComponentType, lazy } from 'react'
import type { Address } from '#app/addresses.ts'

/** Pages are loaded when they are opened; each module exports its page as default. Addresses without a page are places for later ones. */
export const PAGES: Partial<Record<Address, ComponentType>> = {
  '/': lazy(() => import('#pages/home/home-page.tsx')),
  '/books/:bookId/read': lazy(() => import('#reader/read-page.tsx')),
}

/** Pages without the frame. */
export const ALONE: ReadonlySet<Address> = new Set<Address>(['/books/:bookId/read', '/setup'])

/** Whether something is shown at this address. */
export const hasPage = (address: Address): boolean => PAGES[address] !== undefined
