import { Link } from 'wouter'
import { appTexts } from '#texts/app.ts'

export function NoPage() {
  return (
    <main className="empty">
      <h1 className="section-title">{appTexts.noPage()}</h1>
      <p>{appTexts.noPageHint()}</p>
      <Link className="btn" href="/">
        {appTexts.toHome()}
      </Link>
    </main>
  )
}
