import { createHmac } from 'node:crypto'

/**
 * Says in the log which account a login was about, without the e-mail. It takes the server's secret to make one, so that
 * nobody who reads the log can try e-mails until one fits.
 */
export function accountDigest(secret: string): (account: string) => string {
  return (account) =>
    createHmac('sha256', secret).update(`account ${account}`).digest('base64url').slice(0, 16)
}
