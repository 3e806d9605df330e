/** The source of audit lines: a running gateway, or the store if none is running. */

import type { AuditLine } from '../../lib/api-items.ts';
import { codeOf } from '../../lib/log.ts';
import { openAuditToRead } from '../../main.ts';
import { configFor } from '../config.ts';
import { Failure } from '../failure.ts';
import type { CommandLine } from '../flags.ts';
import { openGateway } from '../gateway/open-gateway.ts';

export interface AuditFilters {
  kind?: AuditLine['kind'];
  principal?: string;
  server?: string;
  tool?: string;
  text?: string;
  from?: number;
  to?: number;
}

interface AuditPage {
  items: AuditLine[];
  /** The number to continue after. */
  seq: number;
  /** Present if there are already more lines that may match. */
  next?: string;
}

export interface AuditSource {
  /** The newest lines, the oldest of them first. */
  last(count: number): Promise<AuditLine[]>;
  /** Some lines after this number, the oldest first. A gateway ends a long search early: no lines and a `next`. */
  after(seq: number): Promise<AuditPage>;
  /** Called before a retry after a failure; absent if the source cannot be followed. */
  lookAgain?: () => Promise<void>;
  /** For people. */
  where: string;
  close(): Promise<void>;
}

/** How many lines are read at once. */
const PAGE = 200;

export async function openSource(
  line: CommandLine,
  filters: AuditFilters,
  address: string | undefined,
): Promise<AuditSource> {
  // A gateway on standard input has no API.
  if (line.flags.stdio) return storeSource(line, filters);
  try {
    return await gatewaySource(line, filters, address);
  } catch (error) {
    const isNamed = address !== undefined || line.flags.url !== undefined;
    if (isNamed || !(error instanceof Failure) || error.code !== 'unreachable') throw error;
    return storeSource(line, filters, error);
  }
}

async function gatewaySource(
  line: CommandLine,
  filters: AuditFilters,
  address: string | undefined,
): Promise<AuditSource> {
  const { api } = await openGateway(line, address);
  return {
    last: async (count) => (await api.list<AuditLine>('audit', { ...filters }, count)).items.toReversed(),
    after: async (seq) => api.get<AuditPage>('audit', { ...filters, after: seq, limit: PAGE }),
    lookAgain: async () => api.lookAgain(),
    where: api.where,
    close: async () => {},
  };
}

/** `notRunning`: why no gateway was asked. */
async function storeSource(line: CommandLine, filters: AuditFilters, notRunning?: Failure): Promise<AuditSource> {
  const { settings } = await configFor(line, line.flags.stdio ? 'stdio' : 'http');
  const { kind, ...rest } = filters;
  const filter = { ...rest, ...(kind !== undefined && { kinds: [kind] }) };
  const log = await openAuditToRead(settings.store).catch((error: unknown) => {
    throw codeOf(error) === 'STORE_MISSING' ? (notRunning ?? error) : error;
  });
  return {
    last: async (count) => (await log.read({ ...filter, order: 'newest', limit: count })).toReversed(),
    after: async (seq) => {
      const items = await log.read({ ...filter, order: 'oldest', after: seq, limit: PAGE });
      return { items, seq: items.at(-1)?.seq ?? seq };
    },
    where: log.name,
    close: async () => log.close(),
  };
}
