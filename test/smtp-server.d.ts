/** The part of smtp-server that the tests use. */
declare module 'smtp-server' {
  interface Session {
    readonly envelope: {
      readonly mailFrom: { readonly address: string }
      readonly rcptTo: readonly { readonly address: string }[]
    }
    readonly user?: string
  }
  type Done = (error?: (Error & { responseCode?: number }) | null, value?: { user: string }) => void
  interface Options {
    readonly authOptional?: boolean
    readonly disabledCommands?: readonly string[]
    readonly allowInsecureAuth?: boolean
    onAuth?(auth: { username: string; password: string }, session: Session, done: Done): void
    onRcptTo?(address: { readonly address: string }, session: Session, done: Done): void
    onData?(stream: AsyncIterable<Uint8Array>, session: Session, done: Done): void
  }
  export class SMTPServer {
    constructor(options: Options)
    listen(port: number, host: string, listening: () => void): unknown
    close(closed: () => void): void
    readonly server: { address(): { port: number } | string | null }
  }
}
