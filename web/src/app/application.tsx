import { QueryClientProvider } from '@tanstack/react-query'
import { Router } from 'wouter'
import { SERVER_PATH } from '#api/client.ts'
import { queries } from '#api/queries.ts'
import { Gate } from '#app/gate.tsx'
import { Pages } from '#app/pages.tsx'

export function Application() {
  return (
    <QueryClientProvider client={queries}>
      <Router base={SERVER_PATH}>
        <Gate>
          <Pages />
        </Gate>
      </Router>
    </QueryClientProvider>
  )
}
