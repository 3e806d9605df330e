/** Whether all characters are those of Base64. */
export function isBase64(text: string): boolean {
  // Looks for one wrong character: a pattern for the whole text takes time that is quadratic in its length.
  return !/[^A-Za-z0-9+/=\s_-]/.test(text);
}
