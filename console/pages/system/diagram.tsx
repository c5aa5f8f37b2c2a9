import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { labelOf, useModel } from '../../model.ts'
import { useTexts } from '../../texts/index.ts'
import { type Box, LINE, layOut, type Reference, SHOWN } from './layout.ts'

/** Shows the declaration as a diagram of types and references, and as a list. */
export function Diagram() {
  const texts = useTexts().system
  const { entities } = useModel()
  const { boxes, references, width, height } = useMemo(() => layOut(entities), [entities])
  return (
    <>
      <p className="muted">{texts.diagramHelp}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <section className="diagram" aria-label={texts.tabs.diagram} tabIndex={0}>
        <svg
          viewBox={`-8 -8 ${width + 16} ${height + 16}`}
          width={width + 16}
          height={height + 16}
          role="img"
          aria-label={texts.diagramOf(entities.length, references.length)}
        >
          <defs>
            <marker
              id="arrow"
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto"
            >
              <path d="M0 0 8 4 0 8z" className="arrow" />
            </marker>
          </defs>
          {references.map((one) => (
            <Arrow key={`${one.from} ${one.path} ${one.to}`} reference={one} boxes={boxes} />
          ))}
          {boxes.map((box) => (
            <TypeBox key={box.type.name} box={box} />
          ))}
        </svg>
      </section>
      <details>
        <summary>{texts.asList}</summary>
        <table className="plain">
          <thead>
            <tr>
              <th>{texts.from}</th>
              <th>{texts.to}</th>
              <th>{texts.onDelete}</th>
            </tr>
          </thead>
          <tbody>
            {references.map(({ from, path, to, onDelete }) => (
              <tr key={`${from} ${path} ${to}`}>
                <td>
                  <code>{`${from}.${path}`}</code>
                </td>
                <td>
                  <code>{to}</code>
                </td>
                <td>{texts.deleting[onDelete as keyof typeof texts.deleting] ?? onDelete}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </>
  )
}

function TypeBox({ box: { type, x, y, width, height } }: { readonly box: Box }) {
  const texts = useTexts().system
  const [, navigate] = useLocation()
  const more = type.fields.length - SHOWN
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: for the pointer only; the navigation has the same links.
    <g className="type" transform={`translate(${x} ${y})`} onClick={() => navigate(`/${type.name}`)}>
      <rect width={width} height={height} rx="8" />
      <text x="12" y="20" className="name">
        {labelOf(type)}
      </text>
      {type.fields.slice(0, SHOWN).map((field, at) => (
        <text key={field.path} x="12" y={30 + LINE * at + 14}>
          {field.name.slice(0, 18)}
          <tspan x={width - 12} textAnchor="end" className="kind">
            {field.type === 'ref' ? `→ ${field.to ?? '?'}` : field.type}
          </tspan>
        </text>
      ))}
      {more > 0 && (
        <text x="12" y={30 + LINE * SHOWN + 14} className="kind">
          {texts.moreFields(more)}
        </text>
      )}
    </g>
  )
}

function Arrow({ reference, boxes }: { readonly reference: Reference; readonly boxes: readonly Box[] }) {
  const from = boxes.find(({ type }) => type.name === reference.from)
  const to = boxes.find(({ type }) => type.name === reference.to)
  if (from === undefined || to === undefined) return null
  const row = from.type.fields.findIndex(({ path }) => reference.path.split('.')[0] === path)
  const y1 = from.y + 30 + LINE * Math.min(Math.max(row, 0), SHOWN) + 10
  const y2 = to.y + 16
  const isBack = to.x <= from.x
  const x1 = isBack ? from.x : from.x + from.width
  const x2 = isBack ? to.x + (to === from ? 0 : to.width) : to.x
  const bend = to === from || isBack ? -50 : 45
  return (
    <path
      className={`reference ${reference.onDelete}`}
      markerEnd="url(#arrow)"
      d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - (to === from ? -bend : bend)} ${y2} ${x2} ${y2}`}
    />
  )
}
