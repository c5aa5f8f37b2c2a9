import { budget } from '../budget.ts'
import type { MailKind, MailText } from '../declare/mail.ts'

/** The texts of Takeback's own mails, which are short and plain. */
interface Words {
  readonly subject: string
  readonly intro: string
  /** What the link does. */
  readonly action: string
  readonly outro: string
}

const words: Readonly<Record<MailKind, Words>> = {
  reset: {
    subject: 'Set a new password',
    intro: 'Somebody, probably you, asked for a new password for this account.',
    action: 'Set a new password',
    outro: `The link works once, for ${budget.resetLinkMinutes} minutes. If you did not ask for it, ignore this mail: your password stays as it is.`,
  },
  invite: {
    subject: 'Your new account',
    intro: 'An account was created for you, with this e-mail address.',
    action: 'Set your password',
    outro: `The link works once, for ${budget.inviteLinkDays} days. After that, reset your password as if you had forgotten it.`,
  },
  verify: {
    subject: 'Confirm your e-mail address',
    intro: 'Somebody, probably you, has an account with this e-mail address. Confirm that it is yours.',
    action: 'Confirm the address',
    outro: `The link works for ${budget.verifyLinkDays} days. If the account is not yours, do not follow the link: until somebody does, nobody can log in.`,
  },
  taken: {
    subject: 'You already have an account',
    intro:
      'Somebody, probably you, wanted to use this e-mail address for an account. You already have an account with it, and nothing was changed.',
    action: 'If you have forgotten your password, set a new one',
    outro: `The link works once, for ${budget.resetLinkMinutes} minutes. If it was not you, ignore this mail.`,
  },
  email: {
    subject: 'Confirm your new e-mail address',
    intro: 'Somebody, probably you, wants to use this e-mail address for their account.',
    action: 'Use this address',
    outro: `The link works once, for ${budget.emailLinkHours} hours. If it was not you, ignore this mail: nothing changes.`,
  },
  revert: {
    subject: 'Your e-mail address was changed',
    intro: 'The e-mail address of your account was changed. It is no longer this one.',
    action: 'If it was not you, take it back',
    outro: `The link works once, for ${budget.revertLinkDays} days. It also ends all sessions and the password, and mails you a link to set a new one. If it was you, ignore this mail.`,
  },
}

export function defaultText(kind: MailKind, link: string): MailText {
  const { subject, intro, action, outro } = words[kind]
  return {
    subject,
    text: `${wrapped(intro)}\n\n${action}:\n${link}\n\n${wrapped(outro)}\n`,
    html: `<!doctype html>
<html lang="en"><body style="font: 16px/1.5 sans-serif">
<p>${Bun.escapeHTML(intro)}</p>
<p><a href="${Bun.escapeHTML(link)}">${Bun.escapeHTML(action)}</a></p>
<p>${Bun.escapeHTML(outro)}</p>
</body></html>
`,
  }
}

/** Mails with longer lines are encoded, and hard to read in a file. */
const LINE = 72

function wrapped(paragraph: string): string {
  const lines: string[] = []
  for (const word of paragraph.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > LINE) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.join('\n')
}

/** Checks the result of a function in the declaration. */
export function checkedText(made: unknown, kind: MailKind): MailText {
  const { subject, text, html } = (typeof made === 'object' && made !== null ? made : {}) as Record<
    string,
    unknown
  >
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  if (!isText(subject) || !isText(text) || !(html === undefined || isText(html)))
    throw new Error(`mail.${kind} must return { subject, text, html? }, all of them texts.`)
  return { subject, text, ...(html !== undefined && { html }) }
}
