/** A gateway with servers, a client that makes calls, and windows of people at the console. */
import { expect } from 'vitest';
import { createLog } from '../../src/lib/log.ts';
import { startHttp, type HttpGateway } from '../../src/main.ts';
import { httpGateway, PROGRAM, testConfig, type SettingsInput, type TestGateway } from '../support/gateway.ts';
import { hubOverHttp, type HubClient, type Reply } from '../support/hub.ts';
import { defer, owned } from '../support/owned.ts';
import { accessibilityProblems, openBrowser, type Browser, type Context, type Locator, type Page } from './browser.ts';
import { startOffice, type Office } from './office-server.ts';

export const WIDE = { width: 1280, height: 800 };
export const NARROW = { width: 390, height: 844 };

/** One browser and one server for all tests of a file. */
export class Stage {
  readonly browser: Browser;
  readonly office: Office;
  /** Errors that pages logged, which include everything that their policy did not allow. */
  readonly troubles: string[] = [];

  private constructor(browser: Browser, office: Office) {
    this.browser = browser;
    this.office = office;
  }

  static async set(): Promise<Stage> {
    const [browser, office] = await Promise.all([openBrowser(), startOffice()]);
    return new Stage(browser, office);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.office.close();
  }

  /** A gateway and a client of it; with a token, the client is that of somebody. */
  async scene(settings: SettingsInput = {}, token?: string): Promise<Scene> {
    const gateway = await httpGateway({ office: { url: this.office.url } }, settings);
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return { gateway, hub: await hubOverHttp(gateway.url, 'v1', headers) };
  }

  /** A gateway without servers, as the program starts it. */
  async withDemo(): Promise<HttpGateway> {
    const demo = { command: process.execPath, args: [PROGRAM, 'demo-server'] };
    return owned(await startHttp({ ...(await testConfig({})), demo }, createLog('silent')));
  }

  async window(options: object = {}): Promise<{ context: Context; page: Page }> {
    const context = await this.browser.newContext({ viewport: WIDE, locale: 'en-GB', ...options });
    defer(() => context.close());
    // Shorter than that of a test, so that a failure says what was awaited.
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    page.on('pageerror', ({ message }) => this.troubles.push(String(message)));
    page.on('console', (line) => {
      if (line.type?.() === 'error') this.troubles.push(line.text?.() ?? '');
    });
    return { context, page };
  }

  /** A window of somebody who has opened the launch link, or has entered a token. */
  async signedIn(
    gateway: Pick<TestGateway, 'console'>,
    route = '/inbox',
    token?: string,
    options?: object,
  ): Promise<Page> {
    const { page } = await this.window(options);
    const { url, key } = gateway.console;
    await page.goto(token === undefined ? `${url}#key=${key}&to=${route}` : `${url}#${route}`);
    if (token !== undefined) await enter(page, token);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    return page;
  }

  async answersAre(expected: unknown): Promise<void> {
    await expect.poll(() => this.office.answers, { timeout: 5000 }).toMatchObject(expected as object);
  }
}

export interface Scene {
  gateway: TestGateway;
  hub: HubClient;
}

export const call = async ({ hub }: Pick<Scene, 'hub'>, tool: string, args: object = {}): Promise<Reply> =>
  hub.call('execute_tool', { server: 'office', tool, args });

export async function go(page: Page, route: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(`#${route}`)}`);
}

export async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token or launch key').fill(token);
  await page.keyboard.press('Enter');
}

/** The session of a window ends, and somebody signs in on the page as it is. */
export async function signInAgain(page: Page, token: string, route: string): Promise<void> {
  await page.context().clearCookies();
  // The next request shows that the session has ended.
  await go(page, '/servers');
  await enter(page, token);
  await go(page, route);
}

/** The fields of a form that belong together. */
export const group = (page: Page, name: string): Locator => page.getByRole('group', { name });

export async function isAccessible(page: Page, where: string, rules: object = {}): Promise<void> {
  expect(await accessibilityProblems(page, rules), where).toEqual([]);
}
