// Made by build/console.ts.
declare module '*/console/dist/assets.js' {
  export const assets: Readonly<
    Record<
      string,
      { readonly type: string; readonly etag: string; readonly gzip: string; readonly brotli: string }
    >
  >
}

declare module '*.css'
