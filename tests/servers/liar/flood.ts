import { setImmediate as turn } from 'node:timers/promises';
import { text, type Lie } from './peer.ts';

const FLOOD = 8000;
const AT_ONCE = 1000;

/** Says much more than anybody wants to know before it answers. */
export const flood: Lie = {
  call: async (peer, { progressToken }) => {
    for (let progress = 1; progress <= FLOOD; progress += 1) {
      peer.notify('notifications/progress', { progressToken, progress, total: FLOOD, message: `drop ${progress}` });
      if (progress % AT_ONCE === 0) await turn();
    }
    peer.reply({ resultType: 'complete', ...text(`sent ${FLOOD}`) });
  },
};
