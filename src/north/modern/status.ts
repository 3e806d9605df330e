/** The status that the specification wants with an error, where it wants one. */
const STATUS: Record<number, number> = { [-32601]: 404, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

export function statusOf(code: number, otherwise: number): number {
  return STATUS[code] ?? otherwise;
}
