/** People sign in to the console with a real authorization server, in a real browser. For the browser it is another site. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startLoginServer, type LoginServer } from '../auth/login-server.ts';
import { handmadeIssuer } from '../auth/issuer.ts';
import type { SettingsInput } from '../support/gateway.ts';
import type { Page } from './browser.ts';
import { isAccessible, NARROW, Stage, WIDE, type Scene } from './scene.ts';
import { freePort } from '../support/port-to-return-to.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
}, 180_000);

afterAll(() => stage.close());

beforeEach(() => {
  stage.troubles.length = 0;
});

const TOKEN = 'a-token-of-somebody-1';
/** The pages of the issuer wait for a font that is not there. */
const PATIENT = { timeout: 60_000 };

async function withIssuer(more: SettingsInput = {}): Promise<Scene & { server: LoginServer; address: string }> {
  // The issuer has to know the address before the gateway listens.
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/console`;
  const server = await startLoginServer(`http://127.0.0.1:${port}`, 'localhost');
  const issuer = { issuer: server.issuer, console: { ...server.client, title: 'Example' } };
  const auth = { tokens: { somebody: TOKEN }, issuers: [issuer], ...more };
  return { ...(await stage.scene({ port, auth }, TOKEN)), server, address };
}

async function signInAt(page: Page, name: string): Promise<void> {
  await page.locator('input[name="login"]').fill(name);
  await page.locator('input[name="password"]').fill('any');
  await page.locator('button[type="submit"]').click();
}

test(
  'A-N, W-7, W-8: a person signs in with the issuer by keyboard, returns to the link, and signs out at both',
  PATIENT,
  async () => {
    const { server, address } = await withIssuer();
    const { page } = await stage.window();
    await page.goto(`${address}#/work?status=failed`);
    const button = page.getByRole('button', { name: 'Sign in with Example' });
    await button.waitFor();
    await isAccessible(page, 'the sign-in screen');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Sign in with Example');
    await page.keyboard.press('Enter');
    await signInAt(page, 'ann');
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    expect(page.url()).toBe(`${address}#/work?status=failed`);
    await page.getByText(`ann@${server.issuer}`).first().waitFor();
    // The page stays signed in, and scripts see none of its cookies.
    await page.reload();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('You are still signed in with Example').waitFor();
    await isAccessible(page, 'the sign-in screen after signing out');
    // Here one click is enough, until the person has signed out there, too.
    await button.click();
    await page.getByRole('heading', { name: 'Work' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign out there, too' }).click();
    await page.locator('button[value="yes"]').click();
    await button.click();
    await page.locator('input[name="login"]').waitFor();
    // Who is not signed in is refused, and the page of the issuer wants a font from elsewhere.
    expect(stage.troubles.filter((trouble) => !/status of 401|ERR_NAME_NOT_RESOLVED/.test(trouble))).toEqual([]);
  },
);

test('A-N, W-7: a page outside the console gets the browser back after the sign-in, with a pass', PATIENT, async () => {
  const { address } = await withIssuer();
  const { page } = await stage.window();
  await page.goto(`${address}#to=/oauth/start/abc`);
  await page.getByRole('button', { name: 'Sign in with Example' }).click();
  await signInAt(page, 'ann');
  await expect.poll(() => page.url()).toMatch(/\/oauth\/start\/abc\?pass=[\w.-]+$/);
  // Who is signed in already goes on at once.
  await page.goto(`${address}#to=/oauth/start/other`);
  await expect.poll(() => page.url()).toMatch(/\/oauth\/start\/other\?pass=[\w.-]+$/);
});

test(
  'A-N, W-7, W-8: a person without a scope gets an error page, and the smallest scope gives read-only access',
  PATIENT,
  async () => {
    const { address } = await withIssuer();
    const denied = (await stage.window()).page;
    await denied.goto(address);
    await denied.getByRole('button', { name: 'Sign in with Example' }).click();
    await signInAt(denied, 'eve');
    await denied.getByRole('heading', { name: 'You may not use this gateway' }).waitFor();
    await isAccessible(denied, 'the page of somebody without a scope');
    const { page } = await stage.window();
    await page.goto(address);
    await page.getByRole('button', { name: 'Sign in with Example' }).click();
    await signInAt(page, 'viewer');
    await page.getByText('Your account has read-only access').waitFor();
    await isAccessible(page, 'the console of somebody who only looks');
  },
);

test(
  'W-8: the sign-in page fits both colour schemes and a phone, and reports an unreachable issuer',
  PATIENT,
  async () => {
    const away = await handmadeIssuer('console');
    const port = await freePort();
    const issuers = [
      { issuer: away.url, console: { clientId: 'console', title: 'Example' } },
      {
        issuer: 'https://login.invalid',
        console: { clientId: 'console', title: 'An organisation with a rather long name' },
      },
    ];
    away.broken = true;
    const { gateway } = await stage.scene({ port, auth: { tokens: { somebody: TOKEN }, issuers } }, TOKEN);
    for (const [name, size] of [
      ['wide', WIDE],
      ['narrow', NARROW],
    ] as const) {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await stage.window({ viewport: size, colorScheme });
        await page.goto(gateway.console.url);
        await page.getByRole('button', { name: 'Sign in with Example' }).waitFor();
        await isAccessible(page, `${name}, ${colorScheme}`);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
        await page.getByRole('button', { name: 'Sign in with Example' }).click();
        await page.getByRole('alert').waitFor();
        expect(await page.getByRole('alert').textContent()).toContain('Example cannot be reached');
        await page.close();
      }
    }
  },
);
