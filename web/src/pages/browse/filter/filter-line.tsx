import { useQuery } from '@tanstack/react-query'
import { CircleAlert, X } from 'lucide-react'
import { useEffect, useId, useRef } from 'react'
import { meQuery } from '#api/session.ts'
import { Select } from '#parts/controls.tsx'
import { Icon } from '#parts/icon.tsx'
import { filterTexts } from '#texts/filter.ts'
import { type Line, newLine } from './draft.ts'
import style from './filter.module.css'
import { FILTER_FIELDS, type FilterField, OPERATORS } from './filter-fields.ts'
import { fieldWords, operatorWords, valueWords } from './filter-words.ts'
import type { Builder } from './use-builder.ts'
import { ValuesInput } from './values-input.tsx'

/** One comparison: field, operator, values, and what is wrong with it beside it. */
export function FilterLine({ line, builder }: { line: Line; builder: Builder }) {
  const { kind } = builder
  const id = useId()
  const row = useRef<HTMLLIElement>(null)
  const permissions = useQuery(meQuery).data?.permissions ?? []
  const field = FILTER_FIELDS[kind][line.field] as FilterField
  const fault = builder.faultOf(line.id)
  const { isNew, onFocused } = builder.focusOf(line.id)
  useEffect(() => {
    if (!isNew) return
    row.current?.querySelector('select')?.focus()
    onFocused()
  }, [isNew, onFocused])
  const fields = Object.entries(FILTER_FIELDS[kind]).filter(
    ([name, { isHidden, needs }]) => name === line.field || (!isHidden && (!needs || permissions.includes(needs))),
  )
  return (
    <li className={style['cond']} ref={row}>
      <Select
        label={filterTexts.field()}
        value={line.field}
        options={fields.map(([value]) => ({ value, text: fieldWords(value) }))}
        onChange={(name) => builder.change({ ...newLine(kind, name), id: line.id })}
      />
      <Select
        label={filterTexts.operator()}
        value={line.operator}
        options={OPERATORS[field.family].map((value) => ({ value, text: operatorWords(value, line.values.length > 1) }))}
        onChange={(operator) => builder.change({ ...line, operator })}
      />
      <Values line={line} field={field} builder={builder} faultId={fault ? id : null} />
      <button type="button" className="icon-btn" aria-label={filterTexts.removeCondition()} onClick={() => builder.remove(line.id)}>
        <Icon of={X} />
      </button>
      {fault && (
        <p className={style['fault']} id={id}>
          <Icon of={CircleAlert} />
          {fault}
        </p>
      )}
    </li>
  )
}

interface ValuesOfLineProps {
  line: Line
  field: FilterField
  builder: Builder
  faultId: string | null
}

function Values({ line, field, builder, faultId }: ValuesOfLineProps) {
  const { operator, low, high } = line
  if (['isNull', 'isNotNull', 'isTrue', 'isFalse'].includes(operator)) return <span className={style['nothing']} />
  if (operator === 'is' || operator === 'isNot')
    return (
      <ValuesInput
        kind={builder.kind}
        field={field}
        libraryId={builder.libraryId}
        values={line.values}
        wordsOf={(value) => valueWords(builder.kind, line.field, value, builder.nameOf)}
        onChange={(values) => builder.change({ ...line, values })}
        faultId={faultId}
      />
    )
  const isBetween = operator === 'between'
  return (
    <span className={style['pair']}>
      <ValueInput
        label={isBetween ? filterTexts.from() : filterTexts.value()}
        {...{ field, faultId }}
        value={low}
        onChange={(value) => builder.change({ ...line, low: value })}
      />
      {isBetween && (
        <>
          <span className="quiet">{filterTexts.and()}</span>
          <ValueInput
            label={filterTexts.to()}
            {...{ field, faultId }}
            value={high}
            onChange={(value) => builder.change({ ...line, high: value })}
          />
        </>
      )}
    </span>
  )
}

interface ValueProps {
  label: string
  field: FilterField
  value: string
  faultId: string | null
  onChange: (value: string) => void
}

function ValueInput({ label, field, value, faultId, onChange }: ValueProps) {
  // A time of an address of somebody else does not fit into a field for days.
  const isDay = field.family === 'date' && (value === '' || value.length === 'yyyy-mm-dd'.length)
  return (
    <span className="input">
      <input
        type={isDay ? 'date' : 'text'}
        {...(field.family === 'number' && { inputMode: 'decimal' as const })}
        dir="auto"
        maxLength={500}
        aria-label={label}
        {...(faultId ? { 'aria-invalid': true, 'aria-describedby': faultId } : {})}
        value={value}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </span>
  )
}
