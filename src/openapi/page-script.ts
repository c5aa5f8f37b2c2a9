import { createHash } from 'node:crypto'
import { Html } from './html.ts'

/**
 * The script for search and copy buttons. The page also works without it. It contains nothing from the declarations, so
 * its hash never changes.
 */
const source = `
(() => {
  const make = (name, properties, ...children) => {
    const element = Object.assign(document.createElement(name), properties)
    element.append(...children)
    return element
  }

  for (const figure of document.querySelectorAll('figure')) {
    const button = make('button', { type: 'button', className: 'copy', textContent: 'Copy' })
    button.addEventListener('click', async () => {
      const code = figure.querySelector('pre')
      try {
        await navigator.clipboard.writeText(code.textContent)
      } catch {
        getSelection().selectAllChildren(code)
        document.execCommand('copy')
        getSelection().empty()
      }
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    })
    figure.querySelector('figcaption').append(button)
  }

  const textOf = (element) => element.textContent.replace(/\\s+/g, ' ').trim()
  const entries = []
  for (const section of document.querySelectorAll('main section')) {
    const title = textOf(section.querySelector('h2'))
    entries.push({ target: section, name: title, where: '', text: title })
    for (const element of section.querySelectorAll('h3, .endpoints > li, tbody tr')) {
      const [call, about] = [element.querySelector('summary'), element.querySelector('.summary')]
      const name = call ? textOf(call).replace(textOf(about), '').trim() : textOf(element.querySelector('th') ?? element)
      element.id ||= 'found-' + entries.length
      entries.push({ target: element, name, where: about ? textOf(about) : title, text: title + ' ' + textOf(element) })
    }
  }
  for (const entry of entries) {
    entry.name = entry.name.slice(0, 90)
    entry.key = entry.name.toLowerCase()
    entry.all = (entry.where + ' ' + entry.text).toLowerCase()
  }

  const MOST = 40
  const find = (words) => {
    const rank = ({ key }) => (key === words.join(' ') ? 0 : words.every((word) => key.includes(word)) ? 1 : 2)
    return entries
      .filter(({ all }) => words.every((word) => all.includes(word)))
      .map((entry, at) => ({ entry, order: rank(entry) * entries.length + at }))
      .sort((a, b) => a.order - b.order)
      .map(({ entry }) => entry)
  }

  const nav = document.querySelector('nav')
  const input = make('input', { type: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: false })
  input.setAttribute('aria-label', 'Search this page')
  input.setAttribute('aria-keyshortcuts', '/')
  const count = make('p', { className: 'count' })
  count.setAttribute('role', 'status')
  const list = make('ul', { className: 'found' })
  const key = make('kbd', { textContent: '/', ariaHidden: 'true' })
  nav.prepend(make('div', { className: 'search', role: 'search' }, input, key), count, list)

  const show = () => {
    const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean)
    const found = words.length === 0 ? [] : find(words)
    nav.classList.toggle('searching', words.length > 0)
    count.textContent = words.length === 0 ? '' : found.length === 0 ? 'Nothing found' : found.length + ' found'
    list.replaceChildren(...found.slice(0, MOST).map(({ target, name, where }) =>
      make('li', {}, make('a', { href: '#' + target.id }, name, make('small', { textContent: where })))))
  }
  const clear = () => { input.value = ''; show() }
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)))
    const details = target && target.querySelector(':scope > details')
    if (details) details.open = true
  }
  input.addEventListener('input', show)
  // Where the list covers the page, it goes before the page moves.
  list.addEventListener('click', (event) => {
    const link = event.target.closest('a')
    if (!link || innerWidth > 896) return
    event.preventDefault()
    clear()
    location.hash = link.hash
  })
  addEventListener('hashchange', reveal)
  addEventListener('keydown', (event) => {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault()
      input.focus()
      input.select()
    }
    if (event.key === 'Escape' && (typing || input.value !== '')) { clear(); input.blur() }
    const links = [...list.querySelectorAll('a')]
    const at = links.indexOf(document.activeElement)
    const next = event.key === 'ArrowDown' ? at + 1 : event.key === 'ArrowUp' ? at - 1 : undefined
    if (next === undefined || (document.activeElement !== input && at < 0)) return
    event.preventDefault()
    ;(links[next] ?? (next < 0 ? input : links.at(-1)))?.focus()
  })
  reveal()
})()
`

export const script = new Html(source)

/** The hash for the `Content-Security-Policy`, which allows this script and no other. */
export function scriptHash(): string {
  return `sha256-${createHash('sha256').update(source).digest('base64')}`
}
