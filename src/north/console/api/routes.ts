import { accountRoutes } from './accounts.ts';
import { auditRoutes } from './audit.ts';
import { callRoutes } from './calls.ts';
import { eventRoutes } from './events.ts';
import { notificationRoutes } from './notifications.ts';
import { otherRoutes } from './others.ts';
import { questionRoutes } from './questions.ts';
import type { ApiRoute } from './route.ts';
import { serverRoutes } from './servers.ts';

/** Everything below `/api/v1`, apart from the description of it. */
export const ROUTES: readonly ApiRoute[] = [
  ...otherRoutes,
  ...questionRoutes,
  ...callRoutes,
  ...serverRoutes,
  ...accountRoutes,
  ...notificationRoutes,
  ...eventRoutes,
  ...auditRoutes,
];
