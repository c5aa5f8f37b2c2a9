import type { AnyUser } from './infer.ts'

export const mailKinds = ['reset', 'invite'] as const
/** `reset`: a link to set a new password. `invite`: a link to set the first one. */
export type MailKind = (typeof mailKinds)[number]

/** A mail as people read it. */
export interface MailText {
  readonly subject: string
  readonly text: string
  /** Without it, the mail is plain text. */
  readonly html?: string
}

/** What a mail is made from. */
export interface MailCall<User> {
  /** Whom it goes to. */
  readonly user: User
  readonly link: string
}

/** Paths of the app's own pages, with `{token}`: `'/reset/{token}'`. They follow `TAKEBACK_APP_URL`. */
export type MailLinks = { readonly [Kind in MailKind]?: string }

/** Texts of one's own in place of Takeback's, and pages of one's own that the links lead to. */
export type MailDeclaration<Types = never> = {
  readonly [Kind in MailKind]?: (call: MailCall<AnyUser<Types>>) => MailText | Promise<MailText>
} & { readonly links?: MailLinks }
