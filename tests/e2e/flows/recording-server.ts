/** The v1 test server as a program that writes down, in the file it is given, which of its calls were cancelled. */
import { appendFileSync } from 'node:fs';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { buildV1Server, newV1State } from '../../servers/v1-server.ts';

const [, , file] = process.argv;
if (file === undefined) throw new Error('which file?');

class Record extends Array<string> {
  override push(...labels: string[]): number {
    appendFileSync(String(file), labels.map((label) => `${label}\n`).join(''));
    return super.push(...labels);
  }
}

process.stdin.once('end', () => process.exit(0));
await buildV1Server({ ...newV1State(), cancelled: new Record() }).connect(new StdioServerTransport());
