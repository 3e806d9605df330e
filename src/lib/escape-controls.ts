/** Control characters except line break and tab, and the marks that change the direction of writing. */
export const UNPRINTABLE = /(?![\n\t])[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** JSON with these characters as `\uXXXX`: still the same document, and no terminal obeys it. */
export function escapeControls(json: string): string {
  return json.replaceAll(UNPRINTABLE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
