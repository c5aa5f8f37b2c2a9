/** The part of nodemailer that Takeback uses. It is loaded only when the first mail is sent. */
declare module 'nodemailer' {
  interface Mail {
    readonly from: string
    readonly to: { readonly name: string; readonly address: string }
    readonly subject: string
    readonly text: string
    readonly html?: string
    /** Whether texts may name files and URLs whose content is then sent. */
    readonly disableFileAccess: boolean
    readonly disableUrlAccess: boolean
  }
  interface Transport {
    sendMail(mail: Mail): Promise<{ readonly message?: Uint8Array }>
    close(): void
  }
  export function createTransport(options: Readonly<Record<string, unknown>>): Transport
}
