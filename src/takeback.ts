/** The exports of `takeback`, which a `takeback.config.ts` imports. */
export type * from './declare/api-types.ts'
export type {
  CaseQuestion,
  CaseRequest,
  GivenActor,
  GivenEntities,
  GivenName,
  RuleCase,
  RuleCases,
} from './declare/cases.ts'
export { cases } from './declare/cases.ts'
export type {
  CheckedEntities,
  FieldPath,
  IndexPath,
  ItemOf,
  LoginName,
  LoginNames,
  TextPath,
  UniquePath,
} from './declare/checked.ts'
export type {
  AnyHooks,
  AnyJobs,
  AnyReactions,
  AnyRoutes,
  BeforeHooks,
  HookCall,
  JobCall,
  JobDeclaration,
  Jobs,
  KnownRoute,
  KnownRoutes,
  PathNames,
  ReactionCall,
  ReactionCause,
  ReactionKind,
  Reactions,
  RouteCall,
  RouteDeclaration,
  Routes,
} from './declare/code.ts'
export type {
  Action,
  AppDeclaration,
  AppOptions,
  CheckDeclaration,
  Declared,
  Entities,
  EntityDeclaration,
  EntityOptions,
  FieldDeclaration,
  Fields,
  ListDeclaration,
  ListOptions,
  LoginDeclaration,
  ObjectDeclaration,
  ObjectOptions,
  OnDelete,
  RefDeclaration,
  RefOptions,
  Rule,
  SetDeclaration,
  SetValue,
} from './declare/define.ts'
export {
  app,
  boolean,
  cel,
  choice,
  date,
  datetime,
  decimal,
  email,
  entity,
  everyone,
  integer,
  json,
  list,
  me,
  now,
  number,
  object,
  ref,
  secret,
  signedIn,
  text,
  url,
} from './declare/define.ts'
export { env } from './declare/env.ts'
// Types that TypeScript writes into the declaration file of a config (`declaration: true`) must have a public name.
export type { FieldOptions, FieldRules } from './declare/fields/field.ts'
export type {
  DecimalDeclaration,
  DecimalOptions,
  IntegerDeclaration,
  NumberDeclaration,
  NumberOptions,
} from './declare/fields/number.ts'
export type {
  BooleanDeclaration,
  BooleanOptions,
  JsonDeclaration,
  JsonOptions,
  SecretDeclaration,
  SecretOptions,
} from './declare/fields/plain.ts'
export type {
  AddressOptions,
  ChoiceDeclaration,
  ChoiceOptions,
  EmailDeclaration,
  TextDeclaration,
  TextOptions,
  UrlDeclaration,
} from './declare/fields/text.ts'
export type { DateDeclaration, DatetimeDeclaration, TimeOptions } from './declare/fields/time.ts'
export type * from './declare/infer.ts'
export type { MailCall, MailDeclaration, MailKind, MailLinks, MailText } from './declare/mail.ts'
export { ApiError, forbidden, InvalidData, invalidData as invalid } from './declare/refusals.ts'
export type { Keep } from './declare/retention.ts'
export type { Marker } from './declare/rule.ts'
export type { CelValue, MeValue, NowValue, ServerValue } from './declare/server-value.ts'
export type { WebhookDeclaration, WebhookEvent, WebhookKind } from './declare/webhooks.ts'
