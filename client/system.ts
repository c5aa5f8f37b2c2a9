/** The calls of `/api/system/`, and others that only admins can use. Types only. */

/** A background task that is not done yet. */
export interface Task {
  id: number
  queue: string
  kind: 'reaction' | 'webhook' | 'mail' | 'other'
  name: string | null
  state: 'waiting' | 'running' | 'aside'
  attempts: number
  error: string | null
  at: string
  next_at: string | null
  aside_at: string | null
  holder: string | null
  entity: string | null
  operation: string | null
}

export interface TaskQuery {
  readonly state?: Task['state']
  readonly queue?: string
  readonly limit?: number
  readonly cursor?: string
}

export interface JobState {
  name: string
  every: string
  zone: string
  status: 'never' | 'ok' | 'failed'
  last: string | null
  /** When the job runs next; `null` while it runs. */
  next: string | null
  holder: string | null
  error: string | null
}

export interface WebhookState {
  name: string
  to: string
  waiting: number
  aside: number
  deliveries: {
    at: string
    operation: string
    attempt: number
    status: number | null
    error: string | null
    ms: number
  }[]
}

interface Durations {
  count: number
  /** Answers with a status of 500 or more. */
  errors: number
  p50_ms: number
  p95_ms: number
  max_ms: number
}

/** Statistics of the requests that one instance has answered since its start. */
export interface RequestFigures {
  instance: string
  since: string
  endpoints: ({ method: string; path: string } & Durations)[]
  minutes: ({ at: string } & Durations)[]
  slow: { at: string; ms: number; statement: string; count: number }[]
}

export interface Migrations {
  format: number
  generation: number
  applied: {
    at: string
    operation: string
    entity: string
    path: string
    change: { kind: 'add' | 'fill' | 'aside' | 'convert'; [more: string]: unknown }
  }[]
  aside: { path: string; what: string }[]
  plan: { path: string; what: string; effect: 'safe' | 'aside' | 'refused' }[]
}

/** An invitation of a user who has not set a password yet. */
export interface OpenInvitation {
  /** The user: `users/5`. */
  user: string
  expires_at: string
  expired: boolean
}

/** The query, parameters, body and answer of each call, for `route`. */
export interface SystemCalls {
  'GET /api/system/tasks/': {
    query?: TaskQuery
    answer: {
      queues: Record<string, { waiting: number; running: number; aside: number; oldest: string | null }>
      data: Task[]
      next: string | null
    }
  }
  'POST /api/system/tasks/:id/retry/': { params: { id: number }; answer: { retried: number } }
  'GET /api/system/jobs/': { answer: { data: JobState[] } }
  /** Starts the job in the background: `GET /api/system/jobs/` shows how it went. */
  'POST /api/system/jobs/:name/run/': { params: { name: string }; answer: { name: string } }
  'GET /api/system/requests/': { answer: RequestFigures }
  'GET /api/system/migrations/': { answer: Migrations }
  'GET /api/system/webhooks/': { answer: { data: WebhookState[] } }
  'POST /api/system/webhooks/:name/resend/': {
    params: { name: string }
    body: { operation: string } | { aside: true }
    answer: { resent: number }
  }
  'GET /api/auth/invitations/': {
    query?: { limit?: number; cursor?: string }
    answer: { data: OpenInvitation[]; next: string | null }
  }
  'POST /api/auth/invitations/': { body: { user: string }; answer: { message: string } }
}
