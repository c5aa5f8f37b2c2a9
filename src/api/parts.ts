import { accountDigest } from '../account/account-digest.ts'
import { FirstAdminOffers } from '../account/first-admin-offer.ts'
import { Invitations } from '../account/invitations.ts'
import { AccessKeys } from '../account/keys.ts'
import { Links } from '../account/links.ts'
import { Passkeys } from '../account/passkeys.ts'
import { Preferences } from '../account/preferences.ts'
import { Handoffs } from '../account/providers/handoffs.ts'
import { LinkedIdentities } from '../account/providers/linked.ts'
import { OpenIdProvider } from '../account/providers/openid.ts'
import { compileReclaim } from '../account/reclaim.ts'
import { Seals } from '../account/seals.ts'
import { SecondFactors } from '../account/second-factors.ts'
import { Sessions } from '../account/sessions.ts'
import { TemporaryPasswords } from '../account/temporary.ts'
import { Throttle } from '../account/throttle.ts'
import { Tokens } from '../account/tokens.ts'
import { TriedPasswords } from '../account/tried-passwords.ts'
import { VerifiedAddresses } from '../account/verified.ts'
import { Cursors } from '../journal/cursors.ts'
import { Feed } from '../journal/feed.ts'
import { upcastersOf } from '../journal/upcast.ts'
import { EventReader } from '../live/event-reader.ts'
import { Hub } from '../live/hub.ts'
import { Positions } from '../live/positions.ts'
import { Mailer } from '../mail/mailer.ts'
import { RequestFigures } from '../observe/request-figures.ts'
import { compileAmend } from '../plan/past/amend.ts'
import { compileAnswers } from '../plan/past/answers.ts'
import { compileExtents } from '../plan/past/extents.ts'
import { compileFeed } from '../plan/past/feed.ts'
import { compileNotes } from '../plan/past/notes.ts'
import { compileOperations } from '../plan/past/operations.ts'
import { compilePurges } from '../plan/past/purge.ts'
import { FORMAT } from '../store/own.ts'
import { Webhooks } from '../webhooks/webhooks.ts'
import { Identities } from './account/identify.ts'
import { mailQueue } from './account/mail-queue.ts'
import { verifyFollowers } from './account/verify.ts'
import type {
  AccountPiece,
  Context,
  MailPiece,
  Opened,
  PastPiece,
  ProviderPiece,
  ServicePiece,
  WebhookPiece,
} from './context.ts'
import { Health } from './health.ts'
import { RateLimits } from './limits/rate-limits.ts'
import type { Part } from './part.ts'
import { retentionWork } from './past/retention.ts'

/** Accounts: who calls, and how they prove it. */
export const accountPart = {
  name: 'account',
  compile({ model, plans, store, serviceTime, settings }: Opened): AccountPiece {
    const [secret, previous] = settings.secrets
    const tokens = new Tokens(secret, previous)
    const sessions = new Sessions(store, serviceTime)
    const keys = new AccessKeys(store)
    const seals = new Seals(settings.secrets)
    const factors = new SecondFactors(store, seals)
    return {
      tokens,
      keys,
      identities: new Identities({ model, plans, store, tokens, sessions, keys, factors }),
      throttle: new Throttle(store, serviceTime),
      sessions,
      factors,
      passkeys: new Passkeys(store, sessions),
      temporary: new TemporaryPasswords(store),
      firstAdmin: new FirstAdminOffers(store),
      preferences: new Preferences(store),
      verified: new VerifiedAddresses(store),
      tried: new TriedPasswords(store),
      seals,
      digestOf: accountDigest(secret),
    }
  },
  async prepare({ model, verified }: Context): Promise<void> {
    for (const { name, login } of model.logins) if (login?.verify === true) await verified.begin(name)
  },
} satisfies Part

/** The journal, and everything derived from it. */
export const pastPart = {
  name: 'past',
  compile({ model, store, legacy, waker }: Opened): PastPiece {
    const { dialect } = store
    const followed = compileFeed(dialect)
    const feed = new Feed(store, followed)
    const eventReader = new EventReader(store, feed)
    return {
      operations: compileOperations(dialect),
      amend: compileAmend(model, dialect),
      answers: compileAnswers(model, dialect),
      purges: compilePurges(dialect),
      notes: compileNotes(dialect),
      extents: compileExtents(dialect),
      feed,
      positions: new Positions(feed, model),
      eventReader,
      hub: new Hub(feed, eventReader, waker),
      cursors: new Cursors(store, followed, feed),
      upcasterOf: upcastersOf(legacy.steps),
    }
  },
  recurring: (context: Context) => [retentionWork(context)],
} satisfies Part

/** The health of the server, and its rate limits. */
export const servicePart = {
  name: 'service',
  compile({ store, observer, work, settings }: Opened): ServicePiece {
    const { version, rates, explainDenials } = settings
    return {
      health: new Health(store, { about: { version, format: FORMAT }, observer, work }),
      rates: new RateLimits(store, rates),
      requests: new RequestFigures(),
      explainsDenials: explainDenials,
    }
  },
  recurring: ({ rates }: Context) => [rates.sweep],
} satisfies Part

/** Webhooks. */
export const webhookPart = {
  name: 'webhooks',
  compile: (opened: Opened, past: PastPiece): WebhookPiece => ({
    webhooks: new Webhooks(opened.model.webhooks, { ...opened, ...past }),
  }),
  queues: ({ webhooks }: Context) => webhooks.queues(),
  followers: ({ webhooks }: Context) => webhooks.followers(),
} satisfies Part

/** Mails to users. */
export const mailPart = {
  name: 'mail',
  compile: ({ store, observer, settings }: Opened): MailPiece => ({
    mailer: new Mailer(settings.mail, observer),
    invitations: new Invitations(store),
    links: new Links(store),
    reclaim: compileReclaim(store.dialect),
  }),
  queues: (context: Context) => (context.model.logins.length > 0 ? [mailQueue(context)] : []),
  followers: verifyFollowers,
} satisfies Part

/** Providers through which users log in. */
export const providerPart = {
  name: 'providers',
  compile: ({ store, settings: { providers, mail } }: Opened): ProviderPiece => ({
    providers: new Map(
      providers.map((config) => [
        config.name,
        new OpenIdProvider(config, `${mail.url}/api/auth/providers/${config.name}/callback`),
      ]),
    ),
    handoffs: new Handoffs(store),
    linked: new LinkedIdentities(store),
  }),
} satisfies Part

/** Takeback's own parts. */
export const parts: readonly Part[] = [
  accountPart,
  pastPart,
  servicePart,
  webhookPart,
  mailPart,
  providerPart,
]
