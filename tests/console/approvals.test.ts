/** Approvals in the console, in a real browser. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { go, isAccessible, Stage } from './scene.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
}, 180_000);

afterAll(() => stage.close());

test('G-1, G-2: an approval shows its arguments and has buttons to allow once, always or deny', async () => {
  const rules = [{ tool: 'order', then: 'ask', message: 'Orders cost money.', remember: true }];
  const { gateway, hub } = await stage.scene({ rules });
  const page = await stage.signedIn(gateway);
  const order = async (note: string): Promise<unknown> =>
    hub.call('execute_tool', { server: 'office', tool: 'order', args: { note } });
  await order('<b>first</b>');
  await page.getByText('Orders cost money.').first().waitFor();
  expect(await page.getByRole('region', { name: 'Arguments of order' }).textContent()).toBe(
    '{\n  "note": "<b>first</b>"\n}',
  );
  await isAccessible(page, 'an approval');
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('Denied by local in the console').first().waitFor();
  await order('second');
  await go(page, '/inbox');
  await page.getByText('"second"').first().waitFor();
  await page.getByRole('button', { name: 'Always in this session' }).click();
  await page.getByText('Allowed by local in the console').first().waitFor();
  // The server itself asks now, and the next call does not need an approval.
  await order('third');
  const open = page.getByRole('link', { name: /Take your time/ });
  await expect.poll(() => open.count(), { timeout: 5000 }).toBe(2);
  expect(stage.troubles).toEqual([]);
});
