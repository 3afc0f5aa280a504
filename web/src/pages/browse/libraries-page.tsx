import { useQuery } from '@tanstack/react-query'
import { Library } from 'lucide-react'
import { Link } from 'wouter'
import { librariesQuery } from '#api/libraries.ts'
import { Icon } from '#parts/icon.tsx'
import { Empty, Failure } from '#parts/states.tsx'
import { browseTexts } from '#texts/browse.ts'
import style from './browse.module.css'

/** The libraries that the user sees, for windows without a side bar. */
export default function LibrariesPage() {
  const { data, error, refetch } = useQuery(librariesQuery)
  return (
    <div className={style['browse']}>
      <h1 className="page-title">{browseTexts.libraries()}</h1>
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <Empty icon={Library} title={browseTexts.noLibraries()} words={browseTexts.noLibrariesWords()} />}
      <ul className="rows">
        {data?.map((library) => (
          <li key={library.id} className="row">
            <Icon of={Library} />
            <Link className="words" href={`/libraries/${library.id}`}>
              <bdi className="strong">{library.name}</bdi>
              <span className="sub">
                {browseTexts.seriesCount({ count: library.seriesCount })} · {browseTexts.bookCount({ count: library.bookCount })}
              </span>
            </Link>
          </li>
        ))}
      </ul>
      {data && data.length > 1 && (
        <div className="line">
          <Link className="btn" href="/series">
            {browseTexts.allSeries()}
          </Link>
          <Link className="btn" href="/books">
            {browseTexts.allBooks()}
          </Link>
        </div>
      )}
    </div>
  )
}
