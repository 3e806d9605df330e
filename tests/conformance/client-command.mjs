/**
 * What the conformance suite starts as its client: `client-command.mjs PORT URL`, with the scenario in the environment. It
 * leaves the work to the process that started the suite, which listens on that port and has loaded the client already.
 */
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

const [port, url] = process.argv.slice(2);
const { MCP_CONFORMANCE_SCENARIO: name = '', MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;

// Before the suite's own limit, which would end the shell around this process only.
setTimeout(() => {
  console.error('the work took longer than 55 s');
  process.exit(1);
}, 55_000).unref();

const socket = connect(Number(port), '127.0.0.1');
socket.write(`${JSON.stringify({ url, name, context: JSON.parse(context) })}\n`);
const { complaint = 'the work did not come to its end' } = JSON.parse((await text(socket)) || '{}');
if (complaint === null) {
  console.log('done');
} else {
  console.error(complaint);
  process.exitCode = 1;
}
