import { type AboutEntity, type AboutServer, refTo, schemaName } from '../api/description.ts'
import type { EntityType, Model } from '../declare/model.ts'
import { audienceOf, nameAudience, refusalsOf } from './access.ts'
import { answerOf, sampleOf } from './sample.ts'

/** What the descriptions of endpoints are made of. */
export function aboutServer(model: Model): AboutServer {
  return {
    model,
    sample: (type) => sampleOf(type, model),
    isPublic: (type, action) => audienceOf(type, action) === 'everyone',
  }
}

export function aboutEntity(model: Model, type: EntityType): AboutEntity {
  const audience: AboutEntity['audience'] = (action) => nameAudience(audienceOf(type, action), model)
  return {
    ...aboutServer(model),
    type,
    schema: (kind) => refTo(schemaName(model, type, kind)),
    answer: answerOf(type, model),
    audience,
    access: (...actions) => actions.map((action) => `Who may ${action}: ${audience(action)}.`).join(' '),
    refusals: (action, whole) => refusalsOf(type, action, whole),
  }
}
