import type { Model } from '../declare/model.ts'
export function pageOf(_model: Model): string {
  return ''
}
