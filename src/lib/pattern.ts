/**
 * Matches a name against a pattern with `*` (anything) and `?` (one character), ignoring case; a pattern without either
 * matches anywhere in the name. It goes back at most to the last `*`, so no pattern makes it slow.
 */
export function matchesPattern(pattern: string, name: string): boolean {
  const wanted = pattern.toLowerCase();
  const text = name.toLowerCase();
  if (!/[*?]/.test(wanted)) return text.includes(wanted);
  let at = 0;
  let position = 0;
  let star = -1;
  let resume = 0;
  while (position < text.length) {
    if (wanted[at] === '*') {
      star = at;
      resume = position;
      at += 1;
    } else if (at < wanted.length && (wanted[at] === '?' || wanted[at] === text[position])) {
      at += 1;
      position += 1;
    } else if (star >= 0) {
      at = star + 1;
      resume += 1;
      position = resume;
    } else return false;
  }
  while (wanted[at] === '*') at += 1;
  return at === wanted.length;
}
