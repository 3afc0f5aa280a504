import { appTexts } from '#texts/app.ts'

/** Names the window and its tab after the heading of the page, so that no page has to say it twice. */
export function followHeading(): void {
  let asked = 0
  const read = () => {
    asked = 0
    const heading = document.querySelector('main h1')?.textContent?.trim()
    const title = heading && heading !== appTexts.name() ? appTexts.titleOf({ page: heading }) : appTexts.name()
    if (document.title !== title) document.title = title
  }
  new MutationObserver(() => {
    // Once a frame: scrolling lists change their rows all the time.
    if (asked === 0) asked = requestAnimationFrame(read)
  }).observe(document.getElementById('root')!, { childList: true, characterData: true, subtree: true })
}
