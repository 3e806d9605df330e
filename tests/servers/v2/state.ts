/** What a test can see of a server, over all its requests and sessions. */
export interface V2State {
  readonly calls: { tool: string; args: Record<string, unknown> }[];
  /** `tool` or `tool:text` of each call aborted before its end. */
  readonly cancelled: string[];
  /** What the SDK reported out of band. */
  readonly errors: string[];
}

export function newV2State(): V2State {
  return { calls: [], cancelled: [], errors: [] };
}
