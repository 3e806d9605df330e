/**
 * HTTP/1.1 messages on raw sockets, for the parts of the benchmark that must cost little: the load, the server behind and the
 * cheapest relay. Texts are read as latin1, one character for each byte; those of the benchmark are ASCII.
 */
import type { Socket } from 'node:net';

export interface HttpMessage {
  /** The first line and the headers, without the empty line. */
  head: string;
  body: string;
}

const HEAD_END = '\r\n\r\n';

/** Cuts what arrives on a connection into messages, whose bodies have a length or come in chunks. */
export function readMessages(socket: Socket, onMessage: (message: HttpMessage) => void): void {
  // A large body is only joined until it is complete: searching in it would copy it for each piece that arrives.
  let pending = '';
  let awaited = 0;
  socket.setEncoding('latin1');
  socket.on('data', (piece: string) => {
    pending += piece;
    while (pending.length > 0 && pending.length >= awaited) {
      const end = pending.indexOf(HEAD_END);
      if (end < 0) return;
      const head = pending.slice(0, end);
      const start = end + HEAD_END.length;
      const length = contentLength(head);
      if (length === undefined) {
        const chunked = unchunked(pending, start);
        if (chunked === undefined) return;
        pending = pending.slice(chunked.end);
        onMessage({ head, body: chunked.body });
      } else if (pending.length < start + length) {
        awaited = start + length;
      } else {
        const body = pending.slice(start, start + length);
        pending = pending.slice(start + length);
        awaited = 0;
        onMessage({ head, body });
      }
    }
  });
}

/** The value of a header, whose name is given in lower case. */
export function header(head: string, name: string): string | undefined {
  return new RegExp(`\r\n${name}: *([^\r]*)`, 'i').exec(head)?.[1];
}

const LENGTH = /\r\ncontent-length: *(\d+)/i;
const CHUNKED = /\r\ntransfer-encoding: *chunked/i;

/** `undefined` for a body in chunks. */
function contentLength(head: string): number | undefined {
  const stated = LENGTH.exec(head)?.[1];
  if (stated !== undefined) return Number(stated);
  return CHUNKED.test(head) ? undefined : 0;
}

/** The body that begins at `start`, if all of it is there. */
function unchunked(text: string, start: number): { body: string; end: number } | undefined {
  let body = '';
  let at = start;
  for (;;) {
    const lineEnd = text.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = Number.parseInt(text.slice(at, lineEnd), 16);
    const data = lineEnd + 2;
    const next = data + size + 2;
    if (text.length < next) return undefined;
    if (size === 0) return { body, end: next };
    body += text.slice(data, data + size);
    at = next;
  }
}
