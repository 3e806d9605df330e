/**
 * A server that reads and writes numbers as text, so that none is rounded here. Arguments: `legacy` or `modern`, and `http` to
 * listen on a port, which it prints, instead of its standard input.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [era = 'legacy', over = 'stdio'] = process.argv.slice(2);
const modern = era === 'modern';
const BIG = '9007199254740993';
const INFO = '"capabilities":{"tools":{}},"serverInfo":{"name":"exact","version":"1"}';
const TOOL = '"inputSchema":{"type":"object"}';
const FORM = `{"type":"object","properties":{"n":{"type":"integer","default":${BIG}}}}`;
const QUESTION = `{"mode":"form","message":"Which number?","requestedSchema":${FORM},"_meta":{"test/n":${BIG}}}`;

/** The value of a member, as it is written. */
const member = (text, name) => new RegExp(`"${name}":("[^"]*"|-?\\d+)`).exec(text)?.[1];
/** An object that is the value of a member and has no objects in it. */
const object = (text, name) => new RegExp(`"${name}":(\\{[^{}]*\\})`).exec(text)?.[1] ?? 'none';
const quoted = (text) => JSON.stringify(text).slice(1, -1);

let asking;

/** Answers with `say`, which takes messages without their version. */
function answer(text, say) {
  const id = member(text, 'id');
  const reply = (result) => say(`"id":${id},"result":{${modern ? '"resultType":"complete",' : ''}${result}}`);
  const method = member(text, 'method');
  if (method === undefined && asking !== undefined) {
    asking(text);
    return;
  }
  if (id === undefined) return;
  switch (method ?? '') {
    case '"initialize"':
      if (modern) say(`"id":${id},"error":{"code":-32601,"message":"Method not found"}`);
      else reply(`"protocolVersion":"2025-11-25",${INFO}`);
      return;
    case '"server/discover"':
      if (modern) reply(`"supportedVersions":["2026-07-28"],"ttlMs":60000,"cacheScope":"private",${INFO}`);
      else say(`"id":${id},"error":{"code":-32601,"message":"Method not found"}`);
      return;
    case '"tools/list"':
      reply(
        `"tools":[{"name":"echo",${TOOL}},{"name":"ask",${TOOL}}]${modern ? ',"ttlMs":60000,"cacheScope":"private"' : ''}`,
      );
      return;
    case '"tools/call"':
      if (text.includes('"name":"ask"')) ask(text, id, say, reply);
      else echo(text, say, reply);
      return;
    default:
      reply('');
  }
}

function echo(text, say, reply) {
  const token = member(text, 'progressToken');
  if (token !== undefined) {
    const params = `"progressToken":${token},"progress":${BIG},"total":90071992547409930,"message":"far"`;
    say(`"method":"notifications/progress","params":{${params}}`);
  }
  const got = `arguments ${object(text, 'arguments')}, test/n ${member(text, 'test/n')}`;
  reply(
    `"content":[{"type":"text","text":"${quoted(got)}"}],"structuredContent":{"n":${BIG},"list":[-${BIG},1]},"_meta":{"test/n":${BIG}}`,
  );
}

function ask(text, id, say, reply) {
  const told = (answered) => reply(`"content":[{"type":"text","text":"${quoted(object(answered, 'content'))}"}]`);
  if (!modern) {
    asking = told;
    say(`"id":"question","method":"elicitation/create","params":${QUESTION}`);
  } else if (text.includes('"inputResponses"')) told(text);
  else {
    const request = `{"method":"elicitation/create","params":${QUESTION}}`;
    say(
      `"id":${id},"result":{"resultType":"input_required","inputRequests":{"which":${request}},"requestState":"once"}`,
    );
  }
}

function listen() {
  const server = createServer((req, res) => {
    let text = '';
    req.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
    });
    req.on('end', () => {
      if (req.method !== 'POST') res.writeHead(405).end();
      else if (member(text, 'method') === undefined || member(text, 'id') === undefined) {
        res.writeHead(202).end();
        answer(text, () => {});
      } else {
        res.writeHead(200, { 'content-type': 'text/event-stream' });
        const isLast = (message) => message.startsWith(`"id":${member(text, 'id')},`);
        answer(text, (message) => {
          res.write(`data: {"jsonrpc":"2.0",${message}}\n\n`);
          if (isLast(message)) res.end();
        });
      }
    });
  });
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
}

if (over === 'http') listen();
else {
  createInterface({ input: process.stdin }).on('line', (line) =>
    answer(line, (message) => process.stdout.write(`{"jsonrpc":"2.0",${message}}\n`)),
  );
}
