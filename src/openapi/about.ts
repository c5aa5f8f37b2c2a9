import { type AboutEntity, type AboutServer, refTo, schemaName } from '../api/description.ts'
import type { EntityType, Model } from '../declare/model.ts'
import { withArticle } from '../declare/with-article.ts'
import { audienceOf, nameAudience, refusalsOf } from './access.ts'
import { sampleAnswer, sampleOf } from './sample.ts'

/** What endpoints of the server use to describe themselves. */
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
    one: withArticle(type.name),
    schema: (kind) => refTo(schemaName(model, type, kind)),
    answer: sampleAnswer(type, model),
    audience,
    access: (...actions) =>
      actions
        .map((action) => `Who may ${action === 'history' ? 'see the history' : action}: ${audience(action)}.`)
        .join(' '),
    refusals: (action, whole) => refusalsOf(type, action, whole),
  }
}
