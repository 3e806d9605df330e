interface Output {
  isTTY?: boolean;
  hasColors?(env?: object): boolean;
}

/**
 * Whether to colour what is written to a stream. `FORCE_COLOR` decides if it is set, then `NO_COLOR`, as in Node.js; an
 * empty variable counts as not set. Without either, the stream must be a terminal that shows colours; one with
 * `TERM=dumb` does not.
 */
export function showsColour(stream: Output, env: NodeJS.ProcessEnv = process.env): boolean {
  const { FORCE_COLOR: force, NO_COLOR: none, ...terminal } = env;
  if (force) return force !== '0' && force !== 'false';
  if (none) return false;
  return stream.isTTY === true && stream.hasColors?.(terminal) === true;
}
