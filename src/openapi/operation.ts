import type { Description, Success } from '../api/description.ts'
import type { Method } from '../api/endpoint.ts'
import type { Parameter } from '../api/parameters.ts'
import type { Code } from '../errors.ts'
import type { SharedParameter } from './parameters.ts'

/** An endpoint as the document and the reference page show it. OpenAPI calls it an operation. */
export interface Operation {
  readonly method: Method
  /** The path as in the document: with `{id}`, and with the trailing `/` of Entity paths. */
  readonly path: string
  readonly id: string
  readonly tag: string
  readonly summary: string
  readonly description: string
  /** Whether it can be called without a token. */
  readonly open: boolean
  readonly parameters: readonly (Parameter | SharedParameter)[]
  readonly body: (NonNullable<Description['body']> & { readonly optional: boolean }) | undefined
  /** The query of the example. */
  readonly query: string
  readonly types: readonly string[]
  readonly answers: readonly Success[]
  readonly codes: readonly Code[]
}
