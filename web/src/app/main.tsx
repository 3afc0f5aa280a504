import '#app/styles.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Application } from '#app/application.tsx'
import { reloadOnMissingFiles } from '#app/missing-files.ts'

reloadOnMissingFiles()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Application />
  </StrictMode>,
)
