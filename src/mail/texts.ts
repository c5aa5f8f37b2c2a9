import { budget } from '../budget.ts'
import type { MailKind, MailText } from '../declare/mail.ts'

/** Takeback's own mails: short and plain. */
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
    subject: 'Your account',
    intro: 'An account was created for you, with this e-mail address.',
    action: 'Set your password',
    outro: `The link works once, for ${budget.inviteLinkDays} days. After that, ask for a new password, as if you had forgotten yours.`,
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

/** The text of a declaration's own function, if it is one. */
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
