import { ChevronRight } from 'lucide-react'
import { type ReactNode, useEffect, useRef } from 'react'
import { Icon } from '#parts/icon.tsx'
import style from './disclosure.module.css'

interface DisclosureProps {
  title: string
  /** At first. */
  isOpen?: boolean
  children: ReactNode
}

/** Something that most people leave as it is. */
export function Disclosure({ title, isOpen = false, children }: DisclosureProps) {
  const box = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const open = () => {
      if (box.current) box.current.open = true
    }
    // A browser cannot show what is wrong with a field that nobody sees, and would do nothing at all.
    box.current?.addEventListener('invalid', open, true)
    return () => box.current?.removeEventListener('invalid', open, true)
  }, [])
  return (
    <details ref={box} className={style['box']} open={isOpen}>
      <summary>
        <Icon of={ChevronRight} flips />
        {title}
      </summary>
      <div>{children}</div>
    </details>
  )
}
