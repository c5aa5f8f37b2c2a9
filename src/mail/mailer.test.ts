import { expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { mailsIn, tokenIn } from '../../test/mailbox.ts'
import type { LinkKind } from '../declare/mail.ts'
import { Observer } from '../observe/observer.ts'
import { Mailer } from './mailer.ts'
import { defaultText } from './texts.ts'

test('whatever a token begins with, the mail has it as it is, in each of its parts', async () => {
  const outbox = mkdtempSync(join(tmpdir(), 'takeback-outbox-'))
  const mailer = new Mailer({ smtp: undefined, from: 'takeback@example.com', outbox }, new Observer())
  const urls = ['http://127.0.0.1:8000', `https://${'long-'.repeat(12)}.example.com`]
  const kinds: LinkKind[] = ['reset', 'invite', 'verify', 'email', 'revert']
  for (const url of urls)
    for (const kind of kinds)
      for (const token of ['3DUWXvn8iNiQ9KSY6ZBJOb3o9FZ7_tox', '0A-_', 'e2E2', '-3D3D', '_'])
        await expectArrives(token, kind, url)

  async function expectArrives(token: string, kind: LinkKind, url: string): Promise<void> {
    const [to, name] = ['ada@example.com', `${mailsIn(outbox).length}`.padStart(4, '0')]
    await mailer.send({ ...defaultText(kind, `${url}/account/${kind}?link=${token}`), to, name })
    const mail = mailsIn(outbox).at(-1) ?? ''
    expect(tokenIn(mail)).toBe(token)
    expect(mail.split(`link=${token}`).length - 1).toBe(2)
  }
})
