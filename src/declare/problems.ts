/** Every mistake found so far: the dot path in the declaration, and what would be right. */
export type Problems = [path: string, sentence: string][]
