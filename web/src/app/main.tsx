import '#app/styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Application } from '#app/application.tsx'
import { followHeading } from '#app/window-title.ts'

// `?pseudo=rtl` shows the interface as a language that is written from right to left would; see #texts/define-texts.ts.
if (new URLSearchParams(location.search).get('pseudo') === 'rtl') document.documentElement.dir = 'rtl'
followHeading()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Application />
  </StrictMode>,
)
