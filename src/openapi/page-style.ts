import { Html } from './html.ts'

/** Colours keep a contrast of at least 4.5 to 1 (WCAG 2.2, AA) on both schemes. */
const css = `
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --raised: #f5f5f2; --line: #e2e2dc; --ink: #1d2124; --soft: #5a6268;
  --accent: #0b6e5f;
  --get: #1c5fa8; --post: #1b7340; --patch: #8a5a00; --delete: #b3261e;
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", "JetBrains Mono", Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --raised: #1c2024; --line: #30363b; --ink: #e4e6e7; --soft: #9ba4aa;
    --accent: #5cc9b4;
    --get: #7db4f0; --post: #6fcf97; --patch: #e3b259; --delete: #f28b82;
  }
}
* { box-sizing: border-box }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100% }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto } }
body {
  margin: 0 auto; max-width: 78rem; padding: 0 2rem;
  display: grid; grid-template-columns: 13rem minmax(0, 1fr); column-gap: 4rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.6 var(--sans);
}
a { color: var(--accent); text-underline-offset: .18em; text-decoration-thickness: 1px }
a:hover { text-decoration-thickness: 2px }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px }
.skip { position: absolute; left: -99rem; top: .5rem; padding: .5rem 1rem; background: var(--paper); z-index: 2 }
.skip:focus { left: .5rem }

nav { position: sticky; top: 0; max-height: 100vh; overflow-y: auto; padding: 4rem 0 2rem; font-size: .9rem; align-self: start }
nav ul { list-style: none; margin: 0; padding: 0 }
nav > ul > li + li { margin-top: 1.6rem }
nav span { display: block; margin-bottom: .3rem; color: var(--soft); font-size: .75rem; font-weight: 600; letter-spacing: .06em; text-transform: uppercase }
nav a { display: block; padding: .2rem 0; color: var(--ink); text-decoration: none; overflow-wrap: anywhere }
nav a:hover { color: var(--accent); text-decoration: underline }

.search { position: relative; margin-bottom: 1.6rem }
.search input { width: 100%; padding: .45rem 2rem .45rem .7rem; border: 1px solid var(--line); border-radius: 7px; background: var(--raised); color: var(--ink); font: inherit }
.search input::placeholder { color: var(--soft); opacity: 1 }
.search input::-webkit-search-cancel-button { display: none }
.search kbd { position: absolute; right: .55rem; top: 50%; translate: 0 -50%; padding: 0 .4rem; border: 1px solid var(--line); border-radius: 4px; color: var(--soft); font: .75rem/1.5 var(--mono) }
.search input:focus + kbd { visibility: hidden }
nav .count { margin: 0 0 .6rem; color: var(--soft); font-size: .8rem }
nav .count:empty, nav .found:empty, nav.searching > ul:not(.found) { display: none }
.found li + li { margin-top: .35rem }
.search input:focus-visible { outline-offset: -2px }
.found small { display: block; color: var(--soft); font-size: .78rem }

main { padding: 4rem 0 6rem; min-width: 0; max-width: 56rem }
h1, h2, h3 { line-height: 1.2; text-wrap: balance; letter-spacing: -.015em }
h1 { margin: 0 0 1.2rem; font-size: 2.6rem; font-weight: 700 }
h2 { margin: 0 0 1.2rem; font-size: 1.65rem; font-weight: 680 }
h2 a { color: inherit; text-decoration: none }
h2 a:hover::after { content: " #"; color: var(--accent) }
h3 { margin: 2.4rem 0 .7rem; font-size: 1.05rem; font-weight: 650; letter-spacing: 0 }
p, ul { margin: 0 0 1rem; max-width: 42rem; text-wrap: pretty }
main ul { padding-left: 1.2rem }
main li { margin-bottom: .35rem }
li::marker { color: var(--soft) }
.eyebrow { margin: 0 0 .6rem; color: var(--accent); font-size: .85rem; font-weight: 650; letter-spacing: .04em }
.lead { font-size: 1.2rem; line-height: 1.55; color: var(--soft) }
.note { color: var(--soft); font-size: .92rem }
section { margin-top: 3.5rem; padding-top: 2.8rem; border-top: 1px solid var(--line) }
footer { margin-top: 5rem; padding-top: 1.5rem; border-top: 1px solid var(--line); color: var(--soft); font-size: .85rem }

code, pre { font-family: var(--mono); font-size: .875em }
p code, li code, td code { padding: .1em .3em; background: var(--raised); border-radius: 4px; overflow-wrap: break-word }
figure { margin: 0 0 1rem; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: var(--raised) }
figcaption { padding: .45rem 1rem; border-bottom: 1px solid var(--line); color: var(--soft); font-size: .8rem }
@media (min-width: 75rem) { .pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; align-items: start } .pair figure { min-width: 0 } }
figcaption { display: flex; align-items: center; gap: .3rem }
.copy { margin-left: auto; padding: .15rem .6rem; border: 1px solid var(--line); border-radius: 5px; background: var(--paper); color: var(--soft); font: inherit; cursor: pointer }
.copy:hover { color: var(--accent); border-color: currentColor }
:target { scroll-margin-top: 1.5rem }
li:target, tr:target th { position: relative }
li:target::before, tr:target th::before { content: ""; position: absolute; left: -.9rem; top: 0; bottom: 0; width: 3px; background: var(--accent) }
pre { margin: 0; padding: .9rem 1rem; overflow-x: auto; line-height: 1.55; font-size: .82rem; tab-size: 2 }
pre code { font-size: inherit }
pre:focus-visible { outline-offset: -2px }
.key { color: var(--get) }
.value { color: var(--post) }

.table { overflow-x: auto; margin: 0 0 1rem }
table { width: 100%; border-collapse: collapse; font-size: .92rem; line-height: 1.5 }
th, td { padding: .6rem 1.2rem .6rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; font-weight: 400 }
th:last-child, td:last-child { padding-right: 0 }
thead th { padding-top: 0; color: var(--soft); font-size: .8rem; font-weight: 600; white-space: nowrap }
.fields table, .access table { table-layout: fixed }
.fields th:nth-child(1) { width: 30% } .fields th:nth-child(2) { width: 24% } .access th:nth-child(1) { width: 30% }
th code { font-weight: 600; overflow-wrap: break-word }
td { overflow-wrap: break-word }
.type { display: block; color: var(--soft); font-size: .82rem }
.default { color: var(--soft) }
.who { display: block; padding-left: 1.1rem }
.who::before { content: ""; display: inline-block; width: .5rem; height: .5rem; margin: 0 .55rem 0 -1.1rem; border-radius: 50%; border: 1.5px solid var(--soft); vertical-align: .06em }
.who.everyone::before { background: var(--post); border-color: var(--post) }
.who.signed-in::before { background: var(--get); border-color: var(--get) }
.who.some::before { background: linear-gradient(90deg, var(--get) 50%, transparent 50%); border-color: var(--get) }

main .endpoints { list-style: none; padding: 0; max-width: none; border-top: 1px solid var(--line) }
main .endpoints li { margin: 0; border-bottom: 1px solid var(--line); font-size: .92rem }
.endpoints summary { display: grid; grid-template-columns: 4.6rem minmax(0, 20rem) minmax(0, 1fr) 1rem; gap: .2rem .8rem; align-items: baseline; padding: .5rem 0; cursor: pointer; list-style: none }
.endpoints summary::-webkit-details-marker { display: none }
.endpoints summary::after { content: "›"; color: var(--soft); justify-self: end }
.endpoints details[open] summary::after { content: "⌄" }
.endpoints summary:hover .summary, .endpoints summary:hover::after { color: var(--accent) }
.call { padding: .3rem 0 .6rem }
.call .note { margin-bottom: .4rem }
.endpoints code { padding: 0; background: none }
.summary { color: var(--soft) }
.method { font: 700 .72rem/1 var(--mono); letter-spacing: .03em; padding: .3em .5em; border: 1px solid currentColor; border-radius: 4px; justify-self: start }
figcaption .method { margin-right: .4rem }
.get { color: var(--get) } .post { color: var(--post) } .patch, .put { color: var(--patch) } .delete { color: var(--delete) }

@media (max-width: 56rem) {
  html { scroll-padding-top: 4rem }
  body { display: block; padding: 0 1.1rem }
  nav { padding: 0; margin: 0 -1.1rem; background: var(--paper); border-bottom: 1px solid var(--line); overflow-x: auto; z-index: 1; scrollbar-width: none }
  nav { display: flex; align-items: center; max-height: none }
  nav ul, nav > ul > li { display: flex; align-items: baseline }
  nav > ul { width: max-content; padding: 0 1.1rem; gap: 1.1rem }
  .search { flex: none; width: 8.5rem; margin: 0 0 0 1.1rem }
  .search kbd { display: none }
  .search input { padding-right: .7rem }
  nav.searching { flex-wrap: wrap; overflow: visible }
  nav.searching .search { flex: 1; margin-right: 1.1rem }
  nav.searching .count { flex-basis: 100%; margin: .5rem 1.1rem }
  nav .found { flex-direction: column; flex-basis: 100%; gap: 0; max-height: 60vh; overflow-y: auto }
  nav .found li, nav .found li + li { width: 100%; margin: 0; border-top: 1px solid var(--line) }
  nav .found a { padding: .5rem 0; white-space: normal }
  nav > ul > li + li { margin: 0 }
  nav li ul { gap: 1.1rem }
  nav span { display: none }
  nav a { padding: .85rem 0; white-space: nowrap }
  main { padding: 2.2rem 0 4rem; max-width: none }
  h1 { font-size: 2.1rem }
  .lead { font-size: 1.1rem }
  section { margin-top: 3rem; padding-top: 2.2rem }
  .endpoints summary { grid-template-columns: 4.2rem minmax(0, 1fr) 1rem }
  .summary { grid-column: 2 }
  table { font-size: .88rem }
  th, td { padding-right: .8rem }
  .access th:nth-child(1) { width: 38% }
}
@media print { nav, .skip, .copy { display: none } body { display: block } }
`

/** The page loads nothing, so this and the script of `page-script.ts` are all that it contains besides HTML. */
export const style = new Html(css)
