import type { EntityType, Model } from '../../declare/model.ts'
import type { Dialect } from '../../store/dialect.ts'
import type { Legacy } from '../tables/graph.ts'
import type { Viewer } from '../viewer/viewer.ts'

/** What a View is compiled from. */
export interface ViewInput {
  readonly type: EntityType
  readonly viewer: Viewer
  readonly model: Model
  readonly legacy: Legacy
  readonly dialect: Dialect
}
