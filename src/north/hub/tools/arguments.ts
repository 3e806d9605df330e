import * as z from 'zod';
import { MAX_DELAY_MS } from '../../../lib/clock.ts';

export const MAX_NAME = 256;

/** A name or an id. Its limit is not in the listed schema, to save tokens. */
export const shortText = z.string().refine((text) => text.length <= MAX_NAME, `at most ${MAX_NAME} characters`);

export const serverName = shortText.describe('Name from list_servers');

/** How long a client will wait. */
export const waitMs = z.number().int().min(0).max(MAX_DELAY_MS);
