import pkg from '../../package.json'
import type { Model } from '../declare/model.ts'
import type { Offered } from './document.ts'
import { type Content, type Html, html, type Section } from './html.ts'
import { operationsOf } from './operations.ts'
import { entitySection } from './page-entity.ts'
import { pastSection } from './page-past.ts'
import { script } from './page-script.ts'
import { style } from './page-style.ts'
import {
  changesSection,
  errorsSection,
  listsSection,
  removalSection,
  requestsSection,
  sessionsSection,
} from './page-topics.ts'

/** The reference for people: one page, made from the declarations. */
export function pageOf(
  model: Model,
  base: string,
  { queryToken, endpoints: served }: Offered = { queryToken: true },
): string {
  const operations = operationsOf(model, served)
  const before = [requestsSection(operations, base), sessionsSection(model, operations, queryToken)]
  const types = [...model.entities.values()].map((type) => entitySection(type, model, operations))
  const [first = ''] = model.entities.keys()
  const after = [
    listsSection(model),
    changesSection(),
    removalSection(),
    pastSection(first, operations),
    errorsSection(),
  ]
  return wrap(
    html`${contents(before, types, after)}
<main id="content">
${introduction(model)}
${[...before, ...types, ...after].map(sectionOf)}
<footer><p>Made by Takeback ${pkg.version} from the declarations that it serves.</p></footer>
</main>`,
  ).text
}

function wrap(body: Content): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>API reference</title>
<link rel="icon" href="${ICON}">
<style>${style}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
${body}
<script>${script}</script>
</body>
</html>
`
}

/** An arrow that turns back. */
const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b6e5f"/><path d="M13 8l-5 5 5 5M8 13h10a5 5 0 0 1 0 10h-5" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)}`

function introduction(model: Model): Html {
  const count = model.entities.size
  return html`<header>
<p class="eyebrow">Takeback</p>
<h1>API reference</h1>
<p class="lead">${count === 1 ? 'One type of Entity' : `${count} types of Entities`}, all created, read, listed, changed,
deleted and restored in the same way. What is deleted is not gone: every delete can be taken back, whole.</p>
<p>For programs the same stands in the <a href="/api/openapi.json">OpenAPI 3.1 document</a>.</p>
</header>
`
}

function contents(before: readonly Section[], types: readonly Section[], after: readonly Section[]): Html {
  const group = (title: string, sections: readonly Section[]) =>
    html`<li><span>${title}</span><ul>${sections.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></li>
`
  return html`<nav aria-label="Contents"><ul>
${group('Start', before)}${group('Entity types', types)}${group('In depth', after)}</ul></nav>`
}

function sectionOf({ id, title, body }: Section): Html {
  return html`<section id="${id}" aria-labelledby="${id}-title">
<h2 id="${id}-title"><a href="#${id}">${title}</a></h2>
${body}</section>
`
}
