import type { Engine } from './types.ts'

/** The calls that the process of the tests sends to the process of the app. */
export type EngineCall = 'signIn' | 'at' | 'reset' | 'settled' | 'mails' | 'webhooks' | 'run'

export interface EngineRequest {
  readonly number: number
  readonly call: EngineCall
  readonly given: readonly unknown[]
}

/** An error as it is sent between the processes. */
export interface SentError {
  readonly name: string
  readonly message: string
  readonly stack: string
}

export interface Answer {
  readonly number: number
  readonly value?: unknown
  readonly error?: SentError
}

export type Reply =
  | { readonly started: Pick<Engine, 'url' | 'systemToken'> }
  | { readonly refused: SentError }
  | Answer
