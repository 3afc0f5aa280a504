import { useState } from 'react'
import { Dialog } from '#parts/above/dialog.tsx'
import { Check } from '#parts/controls.tsx'
import { browseTexts } from '#texts/browse.ts'
import { tableTexts } from '#texts/table.ts'
import type { BrowseKind } from '../browse-address.ts'
import { columnsOf, readColumns, writeColumns } from './columns.tsx'
import style from './table.module.css'

interface ColumnsDialogProps {
  kind: BrowseKind
  chosen: readonly string[]
  onChange: (columns: string | null) => void
  onClose: () => void
}

/** Which columns the table has. */
export function ColumnsDialog({ kind, chosen, onChange, onClose }: ColumnsDialogProps) {
  const [names, setNames] = useState(chosen)
  const toggle = (name: string, isOn: boolean) => setNames(isOn ? [...names, name] : names.filter((each) => each !== name))
  return (
    <Dialog
      title={tableTexts.columns()}
      action={browseTexts.apply()}
      onAction={() => {
        onChange(writeColumns(kind, names))
        onClose()
      }}
      onClose={onClose}
    >
      <p className="quiet">{tableTexts.columnsWords()}</p>
      <div className={style['choices']}>
        {columnsOf(kind).map(({ name, text }) => (
          <Check key={name} checked={names.includes(name)} onChange={({ currentTarget }) => toggle(name, currentTarget.checked)}>
            {text()}
          </Check>
        ))}
      </div>
      <button type="button" className={`btn plain ${style['usual']}`} onClick={() => setNames(readColumns(kind, null))}>
        {tableTexts.usual()}
      </button>
    </Dialog>
  )
}
