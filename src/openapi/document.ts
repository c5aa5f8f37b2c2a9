import type { Model } from '../declare/model.ts'
export function documentOf(_model: Model): object {
  return {}
}
