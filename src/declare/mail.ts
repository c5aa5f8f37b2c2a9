import type { AnyUser } from './infer.ts'

/** The purposes of links in mails. */
export const linkKinds = ['reset', 'invite', 'verify', 'email', 'revert'] as const
export type LinkKind = (typeof linkKinds)[number]

export const mailKinds = [...linkKinds, 'taken'] as const
/**
 * `reset`: a link to set a new password. `invite`: a link to set the first one. `verify`: a link that proves the address
 * of an account. `email`: a link that proves a new address. `revert`: the address was changed, and a link takes that back.
 * `taken`: somebody signed up with an address that has an account, or wanted to change theirs to it; with a link like
 * that of `reset`.
 */
export type MailKind = (typeof mailKinds)[number]

/** The texts of a mail. */
export interface MailText {
  readonly subject: string
  readonly text: string
  /** If it is missing, the mail is plain text. */
  readonly html?: string
}

/** The data of a mail. */
export interface MailCall<User> {
  /** The recipient. */
  readonly user: User
  readonly link: string
}

/** Paths of the app's own pages, with `{token}`: `'/reset/{token}'`. They follow `TAKEBACK_APP_URL`. */
export type MailLinks = { readonly [Kind in LinkKind]?: string }

/** Your own texts instead of Takeback's, and your own pages that the links lead to. */
export type MailDeclaration<Types = never> = {
  readonly [Kind in MailKind]?: (call: MailCall<AnyUser<Types>>) => MailText | Promise<MailText>
} & { readonly links?: MailLinks }
