/** Decides whether the spans of a trace are recorded. `parent`: whether the caller records its own; absent without a caller. */
export type Sampler = (traceId: string, parent: boolean | undefined) => boolean;

/** Of the digits of a trace id as many as a number holds exactly. */
const RANDOM_DIGITS = 13;

/** By the names that OpenTelemetry gives them. */
export function samplerNamed(name: string, ratio: number): Sampler | undefined {
  const isBased = name.startsWith('parentbased_');
  const root = rootSampler(isBased ? name.slice('parentbased_'.length) : name, ratio);
  if (root === undefined || !isBased) return root;
  return (traceId, parent) => parent ?? root(traceId, undefined);
}

function rootSampler(name: string, ratio: number): Sampler | undefined {
  switch (name) {
    case 'always_on':
      return () => true;
    case 'always_off':
      return () => false;
    case 'traceidratio': {
      const threshold = (1 - ratio) * 16 ** RANDOM_DIGITS;
      return (traceId) => parseInt(traceId.slice(-RANDOM_DIGITS), 16) >= threshold;
    }
    default:
      return undefined;
  }
}
