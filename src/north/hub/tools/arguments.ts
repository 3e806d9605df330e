import * as z from 'zod';
import { MAX_DELAY_MS } from '../../../lib/timers.ts';

export const serverName = z.string().describe('Name from list_servers');

/** How long a client is ready to wait. */
export const waitMs = z.number().int().min(0).max(MAX_DELAY_MS);
