/**
 * The server scenarios of the official conformance suite, against the direct endpoint of the gateway: with a backend of
 * each era, over HTTP and over stdio; and against the endpoint of a group with that backend as its only server.
 *
 * `npm run conformance`, with `-- --scenario NAME` for one scenario, `-- --target legacy-stdio` for one backend, and
 * `-- --gateways 3` for several gateways on one PostgreSQL, of which each request goes to another.
 */
import { parseArgs } from 'node:util';
import { bundle } from '../support/build.ts';
import { conformanceOfServers } from './server-runs.ts';

const { values } = parseArgs({
  options: { scenario: { type: 'string' }, target: { type: 'string' }, gateways: { type: 'string' } },
});

const began = Date.now();
await Promise.all([bundle('conformance-legacy-stdio'), bundle('conformance-modern-stdio')]);
const { findings, surprises, table } = await conformanceOfServers({
  ...values,
  gateways: values.gateways === undefined ? undefined : Number(values.gateways),
});
for (const { set, target, scenario, exception } of findings) {
  if (exception === undefined) continue;
  console.log(`known  ${set.name}/${scenario}, ${target.era} backend on ${target.transport}: ${exception.reason}`);
}
for (const surprise of surprises) console.log(`WRONG  ${surprise}`);
console.log(`\n${table}\n`);
console.log(`${surprises.length} unexpected; ${Math.round((Date.now() - began) / 1000)} s`);
process.exitCode = surprises.length === 0 && findings.length > 0 ? 0 : 1;
