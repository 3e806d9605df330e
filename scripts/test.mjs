// `npm test`: checks types and lint while the tests run, with the processor time that these leave over. The arguments are
// those of vitest. A check that fails ends the tests.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';

const CHECKS = ['types', 'lint'];
const SHELL = process.platform === 'win32';

const tests = spawn('vitest', ['run', ...process.argv.slice(2)], { stdio: 'inherit', shell: SHELL });
const tested = once(tests, 'exit').then(([code]) => code === 0);
const checked = CHECKS.map(async (name) => {
  const { ok, output } = await run(name);
  if (ok) return true;
  process.stdout.write(`\nnpm run ${name} failed:\n${output}\n`);
  tests.kill();
  return false;
});
const results = await Promise.all([tested, ...checked]);
process.exitCode = results.every(Boolean) ? 0 : 1;

async function run(name) {
  // Both checks are programs in Go, which with several threads take more processor time from the tests in all.
  const env = { ...process.env, GOMAXPROCS: '1' };
  const check = spawn('npm', ['run', '--silent', name], { env, stdio: ['ignore', 'pipe', 'pipe'], shell: SHELL });
  setPriority(check.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  let output = '';
  for (const stream of [check.stdout, check.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [code] = await once(check, 'close');
  return { ok: code === 0, output };
}
