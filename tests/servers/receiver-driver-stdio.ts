/** The driver of receiver tasks as a program. Who listens on the port TEST_CONTROL drives it, and ends it by hanging up. */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { McpError } from '@modelcontextprotocol/sdk/types.js';
import { buildReceiverDriver, type Driven, type Failure, type Order, type Report } from './receiver-driver.ts';

process.stdin.once('end', () => process.exit(0));
void buildReceiverDriver(obey).connect(new StdioServerTransport());

function obey(driven: Driven): void {
  const control = connect(Number(process.env['TEST_CONTROL']), '127.0.0.1');
  control.once('close', () => process.exit(0));
  const report = (said: Report): void => void control.write(`${JSON.stringify(said)}\n`);
  createInterface({ input: control }).on('line', (line) => {
    const { id, name, args } = JSON.parse(line) as Order;
    const act = driven[name] as (...args: unknown[]) => Promise<unknown>;
    act(...args).then(
      (value) => report({ id, value }),
      (error: unknown) => report({ id, error: told(error) }),
    );
  });
}

function told(error: unknown): Failure {
  if (error instanceof McpError) return { message: error.message, code: error.code, data: error.data };
  return { message: String(error) };
}
