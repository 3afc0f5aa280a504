/**
 * What was promised cannot be sent to its end any more: its file has changed, gone, or cannot be read. The answer has begun by then, so that only a
 * connection that breaks off says "incomplete". It has a line in the log.
 */
export class BrokenTransfer extends Error {}
