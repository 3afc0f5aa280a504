import { useQuery } from '@tanstack/react-query'
import { Bookmark, Library, Pencil, Pin, PinOff, Share2, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { changeViews, newViewId, type SavedView, viewsQuery } from '#api/views.ts'
import type { MenuEntry } from '#parts/above/menu.tsx'
import { say, sayFailure } from '#parts/above/toasts.tsx'
import { useMenu } from '#parts/above/use-menu.tsx'
import { Icon } from '#parts/icon.tsx'
import { viewTexts } from '#texts/views.ts'
import { type BrowseAddress, type BrowseKind, isFiltered } from '../browse-address.ts'
import { NameDialog } from './name-dialog.tsx'
import { ShareDialog } from './share-dialog.tsx'
import { hrefOfView, searchOfView, viewOf } from './view-address.ts'

interface ViewsMenuProps {
  kind: BrowseKind
  libraryId: string | null
  address: BrowseAddress
  /** The builder asked for the name of what it shows. */
  isNaming: boolean
  onNaming: (isNaming: boolean) => void
}

/** Saved views: the one that is shown can be renamed, pinned, shared and deleted, another list be saved. */
export function ViewsMenu({ kind, libraryId, address, isNaming, onNaming }: ViewsMenuProps) {
  const views = useQuery(viewsQuery).data ?? []
  const shown = viewOf(views, { kind, libraryId, address })
  const [isSharing, setIsSharing] = useState(false)
  const canSave = isFiltered(address)
  const now = { kind, libraryId, search: searchOfView(address) }
  const save = (name: string, isPinned: boolean) => {
    const view: SavedView = { ...now, id: shown?.id ?? newViewId(), name, isPinned }
    const others = (all: readonly SavedView[]) => all.filter(({ id }) => id !== view.id)
    changeViews((all) => [...others(all), view]).then(() => say(viewTexts.saved({ name })), sayFailure)
  }
  const entries = (): MenuEntry[] => [
    ...(shown
      ? entriesOf(shown, () => onNaming(true))
      : canSave
        ? [{ text: viewTexts.saveThis(), icon: Bookmark, run: () => onNaming(true) }]
        : []),
    ...(canSave ? [{ text: viewTexts.share(), icon: Share2, run: () => setIsSharing(true) }] : []),
    ...views
      .filter((view) => view !== shown)
      .toSorted((a, b) => a.name.localeCompare(b.name))
      .map((view) => ({ text: view.name, icon: Library, href: hrefOfView(view) })),
  ]
  const { openFrom, menu } = useMenu(viewTexts.views(), entries)
  return (
    <>
      {(canSave || views.length > 0) && (
        <button
          type="button"
          className="btn"
          aria-label={viewTexts.views()}
          title={viewTexts.views()}
          aria-haspopup="menu"
          onClick={openFrom}
        >
          <Icon of={Bookmark} />
        </button>
      )}
      {menu}
      {isNaming && (
        <NameDialog
          title={shown ? viewTexts.renameTitle({ name: shown.name }) : viewTexts.saveTitle()}
          name={shown?.name ?? ''}
          isPinned={shown?.isPinned ?? false}
          onSave={save}
          onClose={() => onNaming(false)}
        />
      )}
      {isSharing && <ShareDialog href={hrefOfView(now)} onClose={() => setIsSharing(false)} />}
    </>
  )
}

function entriesOf(view: SavedView, onRename: () => void): MenuEntry[] {
  const { id, name, isPinned } = view
  const pin = () =>
    changeViews((all) => all.map((each) => (each.id === id ? { ...each, isPinned: !isPinned } : each))).then(
      () => say(isPinned ? viewTexts.unpinned({ name }) : viewTexts.pinned({ name })),
      sayFailure,
    )
  const restore = () => void changeViews((all) => [...all.filter((each) => each.id !== id), view]).catch(sayFailure)
  const remove = () =>
    changeViews((all) => all.filter((each) => each.id !== id)).then(() => say(viewTexts.removed({ name }), restore), sayFailure)
  return [
    { text: isPinned ? viewTexts.unpin() : viewTexts.pin(), icon: isPinned ? PinOff : Pin, run: () => void pin() },
    { text: viewTexts.rename(), icon: Pencil, run: onRename },
    { text: viewTexts.remove(), icon: Trash2, isDangerous: true, run: () => void remove() },
  ]
}
