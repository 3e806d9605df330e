import { expect, test } from 'vitest';
import { hubSession, SILENT, startCore } from '../../../tests/support/core.ts';
import { turn } from '../../../tests/support/turn.ts';
import { leaveIfDismissed } from './dismissal.ts';

test.each([{ action: 'cancel' }, { action: 'decline' }])(
  'G-2, H-13: an approval that the client dismisses (%j) is not left to the hub tools',
  async (answer) => {
    const { gateway } = await startCore({ settings: { rules: [{ then: 'ask' }] } });
    const session = await hubSession(gateway);
    const request = { server: 'one', tool: 'delete', args: {}, timeoutMs: Infinity };
    void session.calls.execute(session.connection('one'), request, SILENT);
    await turn();
    const [question] = session.interactions.list('elicitation');
    if (question === undefined) throw new Error('there is no question');
    expect(leaveIfDismissed({ session, gateway }, question, answer, 0)).toBe(false);
    expect(session.interactions.list('elicitation')).toMatchObject([{ audience: 'anyone' }]);
  },
);
