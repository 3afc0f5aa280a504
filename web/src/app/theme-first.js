// Runs before the first paint; #parts/theme.ts does the same when the choice changes.
try {
  const theme = localStorage.getItem('carrel.theme')
  if (theme === 'light' || theme === 'dark' || theme === 'black') document.documentElement.dataset.theme = theme
} catch {
  // The browser refuses storage: the theme of the system.
}
