import { expect, test } from 'vitest';
import { openerFor } from './open-link.ts';

const URL = "https://x.example/?a=1&b=$(x)'";

test.each<[NodeJS.Platform, string | undefined, string[]]>([
  ['linux', undefined, ['xdg-open', URL]],
  ['darwin', '', ['open', URL]],
  ['win32', undefined, ['rundll32', 'url.dll,FileProtocolHandler', URL]],
  ['linux', 'firefox', ['firefox', URL]],
  ['linux', "'my browser' --new:w3m", ['my browser', '--new', URL]],
  ['linux', 'browser --to=%s -x', ['browser', `--to=${URL}`, '-x']],
])('C-3: a link on %s with BROWSER=%s is opened without a shell', (platform, browser, command) => {
  expect(openerFor(URL, platform, browser ?? '')).toEqual(command);
});
