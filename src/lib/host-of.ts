/** The host of an address, which people recognize; the whole text if it is no address. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
