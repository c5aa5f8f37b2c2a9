/** The part of oidc-provider that the tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scope: string): void
    save(): Promise<string>
  }
  export interface Context {
    readonly path: string
    readonly req: IncomingMessage
    readonly res: ServerResponse
    body: unknown
    respond?: boolean
    readonly oidc: {
      readonly client?: { readonly clientId: string }
      readonly session?: { readonly accountId: string }
      readonly provider: {
        readonly Grant: new (of: { clientId: string | undefined; accountId: string | undefined }) => Grant
      }
    }
  }
  export interface Configuration {
    readonly clients: readonly object[]
    readonly claims: Readonly<Record<string, readonly string[]>>
    readonly features: object
    readonly interactions: { url(context: Context, interaction: { readonly uid: string }): string }
    readonly cookies: { readonly keys: readonly string[] }
    readonly ttl: Readonly<Record<string, number>>
    findAccount(context: Context, id: string): { accountId: string; claims(): Record<string, unknown> }
    loadExistingGrant(context: Context): Promise<Grant>
  }
  export default class Provider {
    constructor(issuer: string, configuration: Configuration)
    use(middleware: (context: Context, next: () => Promise<unknown>) => Promise<void>): void
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
