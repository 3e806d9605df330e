/** The person at the console, or the program that uses its API. */
export interface Person {
  principal: string;
  /** Sees and answers what belongs to any principal. */
  operator: boolean;
}

export function maySee({ principal, operator }: Person, item: { principal: string }): boolean {
  return operator || item.principal === principal;
}
