import type { Action } from '../declare/define.ts'
import type { Edge, EntityType, Model } from '../declare/model.ts'
import { withArticle } from '../declare/with-article.ts'
import { audienceOf, nameAudience } from './access.ts'
import { shownChecks } from './concealed.ts'
import type { Section } from './html.ts'
import { type Content, code, figure, type Html, html, joinHtml, jsonCode, nameCode, table } from './html.ts'
import type { Operation } from './operation.ts'
import { curl, endpointList } from './page-calls.ts'
import { anchorOf, fieldRows, typeLink } from './page-fields.ts'
import { sampleAnswer, sampleOf } from './sample.ts'

/** The section about one Entity type. */
export function entitySection(type: EntityType, model: Model, operations: readonly Operation[]): Section {
  const own = operations.filter(({ tag }) => tag === type.name)
  return {
    id: anchorOf(type.name),
    title: type.name,
    body: html`${about(type, model)}
<h3>Fields</h3>
${table(`Fields of ${type.name}`, ['Field', 'Required', 'Values'], fieldRows(type, model), 'fields')}
${uniqueness(type)}${checks(type, model)}
<p class="note">The server adds ${joinHtml(['id', 'version', 'created_at', 'updated_at', 'deleted_at'].map(code), ', ')} to every Entity.</p>
<h3>Who may do what</h3>
${table(`Who may do what with ${type.name}`, ['Who', 'May'], accessRows(type, model), 'access')}
<h3>Endpoints</h3>
${endpointList(own)}
${onDelete(type, model)}
<h3>Example</h3>
${example(type, model)}`,
  }
}

/** Says whether the type logs in, and which types it is connected to. */
function about({ name, login, label, description }: EntityType, { edges }: Model): Content {
  const targets = new Set(edges.filter(({ from }) => from === name).map(({ to }) => to))
  const sources = new Set(
    edges.filter(({ from, to }) => to === name && from !== name).map(({ from }) => from),
  )
  const links = (types: ReadonlySet<string>) => joinHtml([...types].map(typeLink), ', ')
  const sentences = [
    ...(label === undefined ? [] : [html`<strong>${label}</strong>.`]),
    ...(description === undefined ? [] : [description]),
    ...(login === undefined
      ? []
      : [html`Can log in, with the <code>user_type</code> ${code(login.userType)}.`]),
    ...(login?.verify === true ? [html`The e-mail address must be confirmed first.`] : []),
    ...(targets.size === 0 ? [] : [html`Refers to ${links(targets)}.`]),
    ...(sources.size === 0 ? [] : [html`Referred to by ${links(sources)}.`]),
  ]
  return sentences.length === 0 ? '' : html`<p>${joinHtml(sentences, ' ')}</p>`
}

/** Lists unique sets of fields. A single unique field says so in the table. */
function uniqueness({ uniques }: EntityType): Content {
  return uniques
    .filter((set) => set.length > 1)
    .map(
      (
        set,
      ) => html`<p class="note">Unique together (deleted Entities do not count): ${joinHtml(set.map(nameCode), ' and ')}.</p>
`,
    )
}

function checks(type: EntityType, model: Model): Content {
  return shownChecks(type, model).map(
    ({ at, says }) => html`<p class="note">Checked: ${nameCode(at)} ${says}.</p>
`,
  )
}

const served: readonly (readonly [Action, string])[] = [
  ['create', 'create'],
  ['read', 'read and list'],
  ['update', 'change and replace'],
  ['delete', 'delete'],
  ['restore', 'restore and list deleted Entities'],
  ['purge', 'purge'],
  ['history', 'see the history and past states'],
]

/** One row per audience, widest first. That is shorter than one row per action. */
function accessRows(type: EntityType, model: Model): Content[][] {
  const audiences = ['everyone', 'signed-in', 'some', 'admins'] as const
  return audiences.flatMap((audience) => {
    const may = served.filter(([action]) => audienceOf(type, action) === audience).map(([, words]) => words)
    const [first = '', ...rest] = nameAudience(audience, model)
    const who = html`<span class="who ${audience}">${first.toUpperCase()}${rest.join('')}</span>`
    return may.length === 0 ? [] : [[who, may.join(', ')]]
  })
}

function onDelete(type: EntityType, model: Model): Content {
  const into = model.edges.filter(({ to }) => to === type.name)
  if (into.length === 0) return ''
  return html`<h3>When ${withArticle(type.name)} is deleted</h3>
<ul>
${into.map(
  (edge) => html`<li>${effectOf(edge)}</li>
`,
)}</ul>`
}

function effectOf({ from, path, onDelete }: Edge): Html {
  const who = html`${typeLink(from)} that refer to it (${nameCode(path)})`
  switch (onDelete) {
    case 'restrict':
      return html`While there are ${who}, the delete is refused with 409.`
    case 'cascade':
      return html`All ${who} are deleted with it, and restored with it.`
    case 'clear':
      return html`All ${who} lose the reference, and get it back when it is restored.`
  }
}

function example(type: EntityType, model: Model): Html {
  const open = audienceOf(type, 'create') === 'everyone'
  return html`<div class="pair">
${figure(
  html`<span class="method post">POST</span> Create ${withArticle(type.name)}`,
  curl(`/api/${type.name}/`, { token: !open, body: sampleOf(type, model) }),
)}${figure('201 Created', jsonCode(sampleAnswer(type, model)))}</div>
`
}
