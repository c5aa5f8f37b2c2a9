import { createHmac } from 'node:crypto'

/**
 * Names an account in the log without its e-mail. The digest is made with the server's secret, so that nobody who reads
 * the log can try e-mails until one matches.
 */
export function accountDigest(secret: string): (account: string) => string {
  return (account) =>
    createHmac('sha256', secret).update(`account ${account}`).digest('base64url').slice(0, 16)
}
