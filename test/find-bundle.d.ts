declare module '*/bin/find-bundle.js' {
  /** Returns the bundle in a folder with Takeback; undefined unless it was made from the sources that are there. */
  export function findBundle(home: string): string | undefined
}
