/** One isolate, from the side of whoever debugs it. What comes from it is text of V8's debugging protocol, and no more to be trusted than the guest. */
export interface InspectedIsolate {
  /** Opens a session, which messages go to and come from. Until it is closed deadlines rest: whoever looks at a breakpoint takes his time. */
  attach(): void
  /** Closes the session; what it has stopped goes on, and all deadlines begin anew. */
  detach(): void
  /** @param text one message */
  send(text: string): void
  /** Lets the program start, which has waited for it: breakpoints in its first line are set by then. */
  begin(): void
}

/**
 * For the authors of programs, on their own machine. Whoever has it can do with the isolate whatever its program can, and without its deadlines; the
 * server gives it to none.
 */
export interface Inspector {
  /** There is a new isolate, whose program waits for `begin`. @returns who is told what comes of it */
  onIsolate(isolate: InspectedIsolate): { onMessage(text: string): void; onEnded(): void }
}
