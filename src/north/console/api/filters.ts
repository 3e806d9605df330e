/** The filters that lists of calls and lines have in common, as the store takes them. */

interface Given {
  server?: string | undefined;
  tool?: string | undefined;
  session?: string | undefined;
  text?: string | undefined;
  from?: number | undefined;
  to?: number | undefined;
}

type Taken = Partial<Record<'server' | 'tool' | 'sessionId' | 'text', string> & Record<'from' | 'to', number>>;

export function commonFilters({ server, tool, session, text, from, to }: Given): Taken {
  return {
    ...(server !== undefined && { server }),
    ...(tool !== undefined && { tool }),
    ...(session !== undefined && { sessionId: session }),
    ...(text !== undefined && { text }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}
