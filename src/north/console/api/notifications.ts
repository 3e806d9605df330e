import * as z from 'zod';
import { ApiError } from '../api-error.ts';
import { route } from './route.ts';
import { noticeSchema } from './schemas.ts';

const MOST = 200;

export const notificationRoutes = [
  route({
    method: 'GET',
    path: '/notifications',
    summary: 'Notifications that wait, and those that were given up; for operators',
    replies: {
      200: { description: 'The newest first', schema: z.object({ items: z.array(noticeSchema) }) },
    },
    run: async ({ gateway, person }) => {
      if (!person.operator)
        throw new ApiError(403, 'not_allowed', 'only operators see the notifications of all principals');
      return { body: { items: await gateway.store.outbox.list(MOST) } };
    },
  }),
];
