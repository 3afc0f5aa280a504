/** An isolate, from the side of its debugger. It sends texts of V8's debugging protocol, which are as untrusted as the guest. */
export interface InspectedIsolate {
  /** Opens a session for messages. Until it is closed there are no deadlines: a developer at a breakpoint takes time. */
  attach(): void
  /** Closes the session; paused code continues, and all deadlines start again. */
  detach(): void
  /** @param text one message */
  send(text: string): void
  /** Starts the program, which has waited so that breakpoints in its first line can be set. */
  begin(): void
}

/**
 * For the authors of programs, on their own machine. An inspector can do with the isolate whatever its program can, and without deadlines; the
 * server itself never uses one.
 */
export interface Inspector {
  /** Called for a new isolate, whose program waits for `begin`. @returns the listener for its messages */
  onIsolate(isolate: InspectedIsolate): { onMessage(text: string): void; onEnded(): void }
}
