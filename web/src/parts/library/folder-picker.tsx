import { useQuery } from '@tanstack/react-query'
import { ChevronRight, Folder, FolderOpen, Server } from 'lucide-react'
import { useId } from 'react'
import { folderQuery, rootFoldersQuery } from '#api/new-library.ts'
import { Icon } from '#parts/icon.tsx'
import { Failure } from '#parts/states.tsx'
import { setupTexts } from '#texts/setup.ts'
import style from './library.module.css'

interface FolderPickerProps {
  /** Absolute path on the server; null when nothing is chosen. */
  value: string | null
  onChange: (path: string | null) => void
  /** The folder that is chosen from, instead of those in which libraries may be. It is chosen at first. */
  within?: string
  hint?: string
}

/** A folder of the server, below those in which libraries may be. Opening a folder chooses it. */
export function FolderPicker({ value, onChange, within, hint = setupTexts.folderHint() }: FolderPickerProps) {
  const id = useId()
  const roots = useQuery({ ...rootFoldersQuery, enabled: within === undefined })
  const opened = useQuery({ ...folderQuery(value ?? ''), enabled: value !== null, placeholderData: (before) => before })
  const folders = (value === null ? roots.data : opened.data?.entries)?.filter(({ isDirectory }) => isDirectory)
  const error = value === null ? roots.error : opened.error
  return (
    <div className="field">
      <span className="label" id={id}>
        {setupTexts.folder()}
      </span>
      <div className={style['picker']}>
        <Crumbs
          roots={within === undefined ? (roots.data?.map(({ path }) => path) ?? []) : [within]}
          isAll={within === undefined}
          value={value}
          onChange={onChange}
        />
        {error && <Failure error={error} onRetry={() => void (value === null ? roots : opened).refetch()} />}
        <ul aria-labelledby={id}>
          {folders?.map(({ name, path, isReadable }) => (
            <li key={path}>
              <button type="button" className="item" disabled={!isReadable} onClick={() => onChange(path)}>
                <Icon of={Folder} />
                <bdi className="clip">{value === null ? path : name}</bdi>
                {!isReadable && <span className="end">{setupTexts.unreadable()}</span>}
              </button>
            </li>
          ))}
          {folders?.length === 0 && <li className={style['none']}>{value === null ? setupTexts.noRoots() : setupTexts.noFolders()}</li>}
        </ul>
      </div>
      <p className="hint">{hint}</p>
    </div>
  )
}

/** The way from the folder for libraries to the chosen one. */
function Crumbs({ roots, isAll, value, onChange }: Omit<FolderPickerProps, 'within'> & { roots: readonly string[]; isAll: boolean }) {
  const root = roots
    .filter((path) => value === path || value?.startsWith(path === '/' ? '/' : `${path}/`))
    .sort((a, b) => b.length - a.length)[0]
  const below = value !== null && root !== undefined ? value.slice(root.length).split('/').filter(Boolean) : []
  const steps =
    root === undefined ? [] : [root, ...below.map((_, index) => [root === '/' ? '' : root, ...below.slice(0, index + 1)].join('/'))]
  return (
    <ol className="crumbs" aria-label={setupTexts.place()} ref={(list) => showEnd(list)}>
      {isAll && (
        <li>
          <button
            type="button"
            className="icon-btn"
            aria-label={setupTexts.allFolders()}
            title={setupTexts.allFolders()}
            onClick={() => onChange(null)}
          >
            <Icon of={value === null ? FolderOpen : Server} />
          </button>
        </li>
      )}
      {value === null && <li>{setupTexts.foldersHere()}</li>}
      {steps.map((path, index) => (
        <li key={path}>
          {(isAll || index > 0) && <Icon of={ChevronRight} flips />}
          {path === value ? (
            <b aria-current="true">{lastPart(path)}</b>
          ) : (
            <button type="button" className={style['crumb']} onClick={() => onChange(path)}>
              <bdi>{index === 0 ? path : lastPart(path)}</bdi>
            </button>
          )}
        </li>
      ))}
    </ol>
  )
}

/** Of a long way, where it leads is worth more than where it begins. Called after every change. */
function showEnd(list: HTMLElement | null): void {
  if (list) list.scrollLeft = list.scrollWidth
}

const lastPart = (path: string): string => path.split('/').at(-1) || path
