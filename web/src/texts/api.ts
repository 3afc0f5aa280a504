import { defineTexts } from '#texts/define-texts.ts'

export const apiTexts = defineTexts({
  notReached: 'The server cannot be reached. Check that it runs and that this device is connected to its network.',
  notJson: 'Something between this page and the server sent an answer that is not the server’s. Check the proxy.',
  status: 'The server answered with status {status} and no explanation. Its log has more.',
})
