import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { messageOf } from '../lib/log.ts';
import { VERSION } from '../lib/version.ts';
import { addBooking, addCancellation, addReport, addSummary } from './tools.ts';

/** An MCP server to try the gateway with, for clients of either era. */
function createDemoServer(): McpServer {
  const server = new McpServer(
    { name: 'meanwhile-demo', title: 'Meanwhile demo', version: VERSION },
    { instructions: 'slow_report runs slowly, book_table asks the user, summarize asks for a model.' },
  );
  addReport(server);
  addBooking(server);
  addSummary(server);
  addCancellation(server);
  return server;
}

/** Serves on standard input and output until that ends. */
export async function demoServer(): Promise<number> {
  return new Promise((resolve) => {
    serveStdio(createDemoServer, {
      onerror: (error) => process.stderr.write(`demo server: ${messageOf(error)}\n`),
    });
    // A client that leaves closes standard input; the SDK then aborts its calls.
    process.stdin.once('end', () => resolve(0)).once('close', () => resolve(0));
  });
}
