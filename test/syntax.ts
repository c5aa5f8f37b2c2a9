import { join, relative } from 'node:path'
import type { FunctionLikeDeclaration, Node, SourceFile } from 'typescript/unstable/ast'
import {
  isArrowFunction,
  isFunctionLikeDeclaration,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isReturnStatement,
  isVariableStatement,
} from 'typescript/unstable/ast/is'
import { API } from 'typescript/unstable/async'

const root = join(import.meta.dir, '..')
const src = join(root, 'src')

/** A function, a method or a constructor of `src/`, by its file and its name. */
export interface Func {
  readonly name: string
  /** Its lines, without the functions in an object that it returns: these are read one by one. */
  readonly lines: number
  readonly parameters: number
}

/** Returns the compiler's syntax trees of all files in `src/` except tests, by their paths. */
export async function parseSources(): Promise<ReadonlyMap<string, SourceFile>> {
  const api = new API({ cwd: root })
  try {
    const snapshot = await api.updateSnapshot({ openProjects: [join(root, 'tsconfig.json')] })
    const program = snapshot.getProjects()[0]?.program
    const names = (await program?.getSourceFileNames()) ?? []
    const paths = names.filter((path) => path.startsWith(`${src}/`) && !path.endsWith('.test.ts'))
    const sources = await Promise.all(paths.map((path) => program?.getSourceFile(path)))
    return new Map(
      sources.flatMap((source) => (source === undefined ? [] : [[relative(src, source.fileName), source]])),
    )
  } finally {
    await api.close()
  }
}

export function functionsIn(path: string, source: SourceFile): Func[] {
  const found: Func[] = []
  const visit = (node: Node, within: string): void => {
    const name = nameOf(node) ?? within
    if (isFunctionLikeDeclaration(node))
      found.push({
        name: `${path} ${name}`,
        lines: ownLines(node, source),
        parameters: node.parameters.length,
      })
    node.forEachChild((child) => visit(child, name))
  }
  visit(source, '')
  return found
}

/** Returns the names of functions, classes and types at the top of a file, and of its exports. */
export function topNames(source: SourceFile): { readonly all: Set<string>; readonly exported: Set<string> } {
  const all = new Set<string>()
  const exported = new Set<string>()
  for (const statement of source.statements) {
    const isExported = /^export\b/.test(statement.getText(source))
    for (const name of namesOf(statement)) {
      if (isExported) exported.add(name)
      if (isExported || !isVariableStatement(statement)) all.add(name)
    }
  }
  return { all, exported }
}

function namesOf(statement: Node): string[] {
  if (isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap((one) => nameOf(one) ?? [])
  const name = nameOf(statement)
  return name === undefined ? [] : [name]
}

/** Returns the name of a node, if it has one: `compileLists`, or `constructor`. */
function nameOf(node: Node): string | undefined {
  const { name } = node as { name?: Node }
  return name?.getText()
}

function linesOf(node: Node, source: SourceFile): number {
  return source.text.slice(node.getStart(source), node.end).split('\n').length
}

function ownLines(node: FunctionLikeDeclaration, source: SourceFile): number {
  return returnedFunctions(node).reduce(
    (lines, inner) => lines - linesOf(inner, source),
    linesOf(node, source),
  )
}

/** Returns the functions in the objects that a function returns. */
function returnedFunctions(node: FunctionLikeDeclaration): Node[] {
  const objects: Node[] = []
  const add = (value: Node | undefined): void => {
    if (value !== undefined && isParenthesizedExpression(value)) add(value.expression)
    else if (value !== undefined && isObjectLiteralExpression(value)) objects.push(value)
  }
  if (isArrowFunction(node)) add(node.body)
  node.body?.forEachChild((statement) => {
    if (isReturnStatement(statement)) add(statement.expression)
  })
  return objects.flatMap(functionsOf)
}

/** Returns the functions that are members of an object: methods, or arrows as values. */
function functionsOf(object: Node): Node[] {
  const found: Node[] = []
  object.forEachChild((member) => {
    const { initializer } = member as { initializer?: Node }
    const value = initializer ?? member
    if (isFunctionLikeDeclaration(value)) found.push(value)
  })
  return found
}
