/** How many bytes a base64 text stands for. */
export const byteCount = (base64: string): number => Buffer.from(base64, 'base64').length;

/** For people. */
export function showBytes(count: number): string {
  if (count < 1000) return `${count} byte${count === 1 ? '' : 's'}`;
  const [divisor, unit] = count < 1_000_000 ? [1000, 'kB'] : [1_000_000, 'MB'];
  return `${(count / divisor).toFixed(1)} ${unit}`;
}
