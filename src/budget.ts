/**
 * Every limit on what a request may send, cost or get back, in one place. `docs/limits.md` documents each of them with
 * the answer when it is exceeded; a test compares the page with this file. A new limit is a line here and a row there.
 */
export const budget = {
  // What a request sends.
  bodyBytes: 1024 * 1024,
  bodyDepth: 64,
  tokenBytes: 4096,
  batchParts: 1000,
  batchSecrets: 100,
  secretBytes: 1024,
  runCharacters: 200,
  reasonCharacters: 1000,
  preferencesBytes: 32 * 1024,

  // While the server starts.
  startWaitMs: 5000,

  // Health.
  slowMs: 50,
  slowStatements: 100,
  slowCharacters: 2000,
  slowKeptMs: 60 * 60 * 1000,
  healthMs: 500,
  probeMs: 2000,
  freeBytes: 1024 * 1024,

  // Rate limits.
  signUpsBurst: 200,
  signUpsPerMinute: 20,
  writesBurst: 2000,
  writesPerSecond: 100,
  readsBurst: 10_000,
  readsPerSecond: 500,
  rateKeys: 100_000,
  streams: 1000,

  // Passwords.
  passwordBits: 24,
  temporaryPasswordHours: 24,
  hashesAtOnce: 2,
  hashesWaiting: 100,
  hashWaitMs: 10_000,
  failuresPerPlace: 5,
  failuresPerAddress: 30,
  failuresElsewhere: 10,
  loginWaitSeconds: 900,
  loginWaits: 100,
  knownPlaces: 20,
  knownPlaceDays: 90,
  resetLinkMinutes: 30,
  inviteLinkDays: 7,
  verifyLinkDays: 3,
  emailLinkHours: 24,
  revertLinkDays: 7,
  actingMinutes: 15,
  seenMinutes: 5,
  challengeMinutes: 5,
  passkeys: 20,
  passkeyNameCharacters: 100,
  agentCharacters: 300,
  providerLoginMinutes: 10,
  providerCodeSeconds: 60,
  providerSeconds: 5,
  providerKnownMinutes: 60,
  recentLoginMinutes: 10,
  returnToBytes: 2048,

  // Keys for programs.
  keysPerUser: 100,
  keyNameCharacters: 100,
  keyLimit: 1_000_000,
  keyUsedMinutes: 5,
  keyShapes: 100,

  // What a request asks for.
  pageDefault: 20,
  pageEntities: 200,
  expressionBytes: 4096,
  expressionParts: 100,
  expressionHops: 3,
  namedRuleUses: 100,
  ruleItems: 1_000_000,
  filterItems: 100_000_000,
  expressionSearches: 10,
  listItems: 10_000,
  referrers: 100,
  patternCharacters: 200,
  patternDepth: 10,
  patternRepeat: 100,
  patternAnchors: 8,
  patternSteps: 120,
  patternWays: 8000,
  matchedCharacters: 10_000,
  patternMs: 2000,
  equalities: 50,
  sortKeys: 8,
  summaryValues: 20,
  searchWords: 10,
  statementBytes: 256 * 1024,
  expandPaths: 20,
  expandDepth: 3,
  expandReverse: 20,

  // What a read costs, where the database is a file.
  readers: 4,
  readerQueue: 200,

  // What one request changes by a filter.
  filteredEntities: 10_000,
  filteredBytes: 64 * 1024 * 1024,

  // What is taken back.
  undoOperations: 10_000,
  namedOperations: 100,
  undoSkips: 1000,
  stackVersions: 1000,
  explainedVersions: 1000,

  // What one step of background work changes.
  stepEntities: 500,
  stepRows: 5000,

  // The user's code.
  hookMs: 5000,
  routeMs: 25_000,
  codeDepth: 10,
  reactionMs: 60_000,

  // Background work.
  leaseMs: 30_000,
  leaseRenewals: 3,
  workLookMs: 1000,
  workPauseMs: 60 * 60 * 1000,
  workStopMs: 5000,
  tasksAtOnce: 4,
  taskAttempts: 36,
  namedTasks: 20,
  workErrorCharacters: 1000,

  // Who follows the journal.
  wakeGatherMs: 20,
  wakeRestMs: 500,
  feedLookMs: 1000,
  followedTasks: 1000,
  cursorIdleMs: 24 * 60 * 60 * 1000,
  feedWaitSeconds: 30,
  feedChanges: 1000,
  feedDependents: 1000,
  feedBehind: 1000,
  feedPastMs: 60_000,
  feedDeliveryMs: 1000,
  feedQuickMs: 20,
  feedReads: 4,
  feedSlowReads: 2,
  feedWaiting: 10_000,
  catchUps: 16,
  heartbeatMs: 15_000,
  streamBytes: 256 * 1024,
  streamLists: 100,
  streamStallMs: 30_000,
  ticketSeconds: 60,

  // What is sent to webhooks.
  webhookMs: 10_000,
  webhookBytes: 1024 * 1024,
  webhookAddresses: 4,
  webhookDeliveries: 100,

  // What is mailed.
  mailMs: 20_000,

  // What an answer contains.
  answerBytes: 16 * 1024 * 1024,
  keptBytes: 1024 * 1024,
  keptDayBytes: 16 * 1024 * 1024,
  pageBytes: 8 * 1024 * 1024,
  toolBytes: 64 * 1024,
  expandEntities: 20_000,
  expandBytes: 8 * 1024 * 1024,
  failures: 100,
  pathCharacters: 200,
  sentenceCharacters: 2000,
  namedObstacles: 20,
  namedChanges: 100,
  namedConflicts: 20,
  /** How many ids of rows that prevent a migration are named, for each reason. */
  migrationRows: 1000,

  // What is logged.
  logCharacters: 4 * 1024 * 1024,
} as const

/** A rate limit: a burst, and how fast it refills. */
export interface Rate {
  readonly burst: number
  readonly perSecond: number
}

/** The rate limits for each address or user; undefined means no limit. */
export interface Rates {
  readonly signUps: Rate | undefined
  readonly writes: Rate | undefined
  readonly reads: Rate | undefined
  /** How many streams may be open at once. */
  readonly streams: number | undefined
}

export const defaultRates: Rates = Object.freeze({
  signUps: { burst: budget.signUpsBurst, perSecond: budget.signUpsPerMinute / 60 },
  writes: { burst: budget.writesBurst, perSecond: budget.writesPerSecond },
  reads: { burst: budget.readsBurst, perSecond: budget.readsPerSecond },
  streams: budget.streams,
})
