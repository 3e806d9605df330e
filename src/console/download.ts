/** How long the browser may take to begin. */
const KEPT_MS = 60_000;

/** Saves a text as a file of the person. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  // Names of tools come from servers.
  link.download = name.replaceAll(/[^\w.-]+/g, '_').slice(-100);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
