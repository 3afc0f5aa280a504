// Runs before the first paint; #parts/theme.ts and #parts/density.ts do the same when a choice changes.
try {
  const theme = localStorage.getItem('carrel.theme')
  if (theme === 'light' || theme === 'dark' || theme === 'black') document.documentElement.dataset.theme = theme
  if (localStorage.getItem('carrel.density') === 'compact') document.documentElement.dataset.density = 'compact'
} catch {
  // The browser refuses storage: the theme of the system, and the usual density.
}
