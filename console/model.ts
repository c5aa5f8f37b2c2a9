import { createContext, useContext } from 'react'
import type { ApiModel, ModelEntity, ModelField, ModelItem, Possible } from '../client/model.ts'
import { get, type Json } from './api.ts'

export type { ModelField as Field, ModelItem as Item, Possible }
export type EntityType = ModelEntity
export type Model = ApiModel

export const modelQuery = {
  queryKey: ['model'],
  queryFn: ({ signal }: { signal: AbortSignal }) => get<Model>('model/', {}, signal),
  staleTime: 5 * 60_000,
}

const Known = createContext<Model | undefined>(undefined)
export const ModelProvider = Known.Provider

/** The model. Only below `<Shell>`, which waits for it. Every cell of a list calls this, so it must cost nothing. */
export function useModel(): Model {
  const model = useContext(Known)
  if (model === undefined) throw new Error('The model is not loaded yet.')
  return model
}

export function useEntityType(name: string): ModelEntity | undefined {
  return useModel().entities.find((type) => type.name === name)
}

/** Returns the value at a dot path. */
export function valueAt(data: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>(
      (at, name) => (typeof at === 'object' && at !== null ? (at as Json)[name] : undefined),
      data,
    )
}

/** Returns the field at a dot path, which may be inside objects. */
export function fieldAt(fields: readonly ModelField[], path: string): ModelField | undefined {
  for (const field of fields) {
    const found = field.path === path ? field : fieldAt(field.fields ?? [], path)
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns the name of an Entity for people: the value of its title field, or `Bookings #7`. */
export function nameOf(type: ModelEntity | undefined, data: Json): string {
  const title = type?.title ? valueAt(data, type.title) : undefined
  if (typeof title === 'string' && title.trim() !== '') return title
  if (typeof title === 'number') return String(title)
  if (typeof data.email === 'string' && type?.login) return data.email
  return untitled(type, data.id)
}

/** Returns the name of an Entity whose title is missing or unknown. With `isBeside`, the type is shown beside it. */
export function untitled(type: ModelEntity | undefined, id: unknown, isBeside = false): string {
  return isBeside || type === undefined ? `#${id}` : `${labelOf(type)} #${id}`
}

/** Returns the label of a type or a field: as declared, or its name in words. */
export function labelOf({ label, name }: { readonly label: string | null; readonly name: string }): string {
  if (label !== null) return label
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
