/**
 * A file changed, disappeared or became unreadable after its response had begun. Only closing the connection tells the client that
 * the response is incomplete. The log records it.
 */
export class BrokenTransfer extends Error {}
