import { Link } from 'wouter'
import { appTexts } from '#texts/app.ts'

export function NoPage() {
  return (
    <div className="empty">
      <h1 className="section-title">{appTexts.noPage()}</h1>
      <p>{appTexts.noPageHint()}</p>
      <div className="line">
        <Link className="btn" href="/">
          {appTexts.toHome()}
        </Link>
      </div>
    </div>
  )
}
