/** What is wrong with a value, and where. */

export type Step = string | number;

/** `goesOn`: the value has the right type all the same, so that further checks can be made. */
export type Issue = { path: Step[]; goesOn?: boolean } & (
  | { code: 'invalid_type'; expected: string }
  | { code: 'invalid_value'; values: readonly unknown[] }
  | { code: 'too_small'; origin: 'string' | 'number'; minimum: number }
  | { code: 'too_big'; origin: 'string' | 'number'; maximum: number }
  | { code: 'unrecognized_keys'; keys: string[] }
  | { code: 'custom'; message: string }
  /** What the key itself does wrong. */
  | { code: 'invalid_key'; issues: Issue[] }
  /** What is wrong with the value as each of the alternatives. */
  | { code: 'invalid_union'; errors: Issue[][] }
);

export const isOver = (issues: readonly Issue[]): boolean => issues.some(({ goesOn }) => goesOn !== true);

export function below(step: Step, issues: readonly Issue[]): Issue[] {
  return issues.map((issue) => ({ ...issue, path: [step, ...issue.path] }));
}

/** In short, for a log or an error that no person has to act on. */
export function summary(issues: readonly Issue[]): string {
  return issues
    .map((issue) => {
      const what = brief(issue);
      return issue.path.length === 0 ? what : `${what} at ${issue.path.join('.')}`;
    })
    .join('; ');
}

function brief(issue: Issue): string {
  if (issue.code === 'custom') return issue.message;
  return issue.code === 'invalid_type' ? `expected ${issue.expected}` : issue.code.replaceAll('_', ' ');
}
