const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/
/** Matches `*`, or tags in quotes (RFC 9110, section 13.1.1). Others would never match, which looks like a conflict. */
export const TAG_LIST = `^(?:[ \\t]*\\*[ \\t]*|[ \\t,]*(?:${TAG.source}[ \\t]*(?:,[ \\t,]*|$))+)$`
const isList = new RegExp(TAG_LIST)

/** The message for an invalid list of tags. */
export const TAGS_EXPECTED =
  'must be an ETag in double quotes, such as "3", several separated by commas, or *'

export function isTagList(text: string): boolean {
  return isList.test(text)
}
