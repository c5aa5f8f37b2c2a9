declare module '*/bin/find-bundle.js' {
  /** The bundle of a folder with Takeback in it; undefined unless it was made from the sources that are there. */
  export function findBundle(home: string): string | undefined
}
