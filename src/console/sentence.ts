/** A message of the checks as a sentence. */
export function sentence(text: string): string {
  const words = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…)]$/.test(words) ? words : `${words}.`;
}
