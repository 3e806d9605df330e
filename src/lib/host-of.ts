/** The host of a URL, which people recognize; the whole text if it is not a URL. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
