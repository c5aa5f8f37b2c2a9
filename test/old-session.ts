import type { TestServer } from './harness.ts'

/** Returns a token of the same session, as if its login had been an hour ago. */
export async function anHourLater(server: TestServer, token: string): Promise<string> {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const { ses, jti, epo, auth_time, exp, sub } = claims
  const [entity, id] = sub.split('/')
  const session = { id: ses, token: jti, epoch: epo, started: auth_time - 3600, expires: exp }
  return (await server.context.tokens.issue({ entity, id: Number(id), session })).token
}
