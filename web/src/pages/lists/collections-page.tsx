import { useQuery } from '@tanstack/react-query'
import { Layers } from 'lucide-react'
import { collectionsQuery } from '#api/lists.ts'
import { coverPath, knownCover } from '#parts/works/words.ts'
import { listTexts } from '#texts/lists.ts'
import { ShelfCards } from './shelf-cards.tsx'

export default function CollectionsPage() {
  const { data, error, refetch } = useQuery(collectionsQuery)
  const cards = data?.data.map((collection) => ({
    id: collection.id,
    name: collection.name,
    words: listTexts.seriesCount({ count: collection.seriesCount }),
    href: `/collections/${collection.id}`,
    cover: coverPath(collection, `api/v1/collections/${collection.id}`),
    known: knownCover(collection),
  }))
  const empty = { icon: Layers, title: listTexts.collectionsEmpty(), words: listTexts.collectionsWords() }
  return <ShelfCards title={listTexts.collections()} cards={cards} error={error} onRetry={() => void refetch()} empty={empty} />
}
