import '#app/styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Application } from '#app/application.tsx'
import { reloadOnMissingFiles } from '#app/missing-files.ts'
import { followHeading } from '#app/window-title.ts'

reloadOnMissingFiles()
followHeading()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Application />
  </StrictMode>,
)
