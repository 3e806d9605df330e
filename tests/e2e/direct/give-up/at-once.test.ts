import { expect, test } from 'vitest';
import { startV1Http } from '../../../servers/v1-http.ts';
import { httpGateway } from '../../../support/gateway.ts';
import { JumpingClock } from '../../../support/jumping-clock.ts';
import { owned } from '../../../support/owned.ts';
import { modernCall, modernHeaders, post, postAndLeave } from '../../../support/raw-http.ts';

test('T-4: a client that returns before the gateway notices that it left does not run the tool twice', async () => {
  const server = owned(await startV1Http());
  const clock = new JumpingClock();
  const { url } = await httpGateway({ one: { url: server.url } }, {}, clock);
  for (let meeting = 0; meeting < 3; meeting += 1) {
    const args = { ms: 1500, text: `meeting ${meeting}` };
    const before = server.state.calls.length;
    const first = postAndLeave(`${url}/one`, modernCall('slow', args), modernHeaders('slow'));
    await expect.poll(() => server.state.calls.length).toBe(before + 1);
    // Longer than anybody has patience at least.
    clock.jump(1100);
    const again = post(`${url}/one`, modernCall('slow', args, 2), modernHeaders('slow'));
    first.destroy();
    expect((await again).text).toContain(`meeting ${meeting}`);
    expect(server.state.calls).toHaveLength(before + 1);
  }
});
