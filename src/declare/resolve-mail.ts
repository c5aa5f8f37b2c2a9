import { didYouMean } from './closest.ts'
import { type LinkKind, linkKinds, type MailKind, mailKinds } from './mail.ts'
import type { MailModel } from './model.ts'
import type { Problems } from './problems.ts'
import { isRecord } from './record.ts'

const OPTIONS: readonly string[] = [...mailKinds, 'links']

/** What the declaration says about mails. */
export function resolveMail(declared: unknown, problems: Problems): MailModel {
  const texts = new Map<MailKind, (call: object) => unknown>()
  if (declared === undefined) return { texts, links: new Map() }
  if (!isRecord(declared)) {
    problems.push(['mail', 'must be texts by name: { reset: ({ user, link }) => ({ subject, text, html }) }'])
    return { texts, links: new Map() }
  }
  for (const name of Object.keys(declared))
    if (!OPTIONS.includes(name))
      problems.push([
        `mail.${name}`,
        `is not a mail${didYouMean(name, OPTIONS)}; there are ${OPTIONS.join(', ')}`,
      ])
  for (const kind of mailKinds) {
    const make = declared[kind]
    if (typeof make === 'function') texts.set(kind, (call) => make(call))
    else if (make !== undefined)
      problems.push([`mail.${kind}`, 'must be a function: ({ user, link }) => ({ subject, text, html })'])
  }
  return { texts, links: resolveMailLinks(declared.links, problems) }
}

function resolveMailLinks(declared: unknown, problems: Problems): Map<LinkKind, string> {
  const links = new Map<LinkKind, string>()
  if (declared === undefined) return links
  if (!isRecord(declared)) {
    problems.push(['mail.links', "must be paths by the name of the mail: { reset: '/reset/{token}' }"])
    return links
  }
  for (const [name, path] of Object.entries(declared)) {
    const kind = linkKinds.find((one) => one === name)
    if (kind === undefined)
      problems.push([`mail.links.${name}`, `is not a mail with a link${didYouMean(name, linkKinds)}`])
    else if (typeof path !== 'string' || !path.startsWith('/') || path.split('{token}').length !== 2)
      problems.push([`mail.links.${name}`, "must be a path with {token} in it, such as '/reset/{token}'"])
    else links.set(kind, path)
  }
  return links
}
