import * as z from 'zod';
import { droppedLately } from '../../../core/notify/dropped.ts';
import { ApiError } from '../api-error.ts';
import { defineRoute } from './route.ts';
import { noticeSchema } from './schemas.ts';

const MOST = 200;
const DROPPED = 'Notifications dropped since yesterday (UTC) because too many were queued';

export const notificationRoutes = [
  defineRoute({
    method: 'GET',
    path: '/notifications',
    summary: 'Lists queued and failed notifications; for operators',
    replies: {
      200: {
        description: 'The newest first',
        schema: z.object({ items: z.array(noticeSchema), dropped: z.number().describe(DROPPED) }),
      },
    },
    run: async ({ gateway, person }) => {
      if (!person.operator)
        throw new ApiError(403, 'not_allowed', 'only operators see the notifications of all principals');
      const { store, clock } = gateway;
      return { body: { items: await store.outbox.list(MOST), dropped: await droppedLately(store, clock.now()) } };
    },
  }),
];
