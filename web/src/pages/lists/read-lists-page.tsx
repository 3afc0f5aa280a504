import { useQuery } from '@tanstack/react-query'
import { ListOrdered } from 'lucide-react'
import { readListsQuery } from '#api/lists.ts'
import { useMayDo } from '#parts/may-do.ts'
import { coverPath, knownCover } from '#parts/works/words.ts'
import { listTexts } from '#texts/lists.ts'
import { ImportList } from './import-list.tsx'
import { ShelfCards } from './shelf-cards.tsx'

export default function ReadListsPage() {
  const { data, error, refetch } = useQuery(readListsQuery)
  const mayImport = useMayDo('books-write')
  const cards = data?.data.map((list) => ({
    id: list.id,
    name: list.name,
    words: listTexts.bookCount({ count: list.bookCount }),
    href: `/read-lists/${list.id}`,
    cover: coverPath(list, `api/v1/read-lists/${list.id}`),
    known: knownCover(list),
  }))
  const empty = {
    icon: ListOrdered,
    title: listTexts.readListsEmpty(),
    words: mayImport ? listTexts.readListsMake() : listTexts.readListsWords(),
  }
  const tools = mayImport && <ImportList />
  return <ShelfCards title={listTexts.readLists()} tools={tools} cards={cards} error={error} onRetry={() => void refetch()} empty={empty} />
}
