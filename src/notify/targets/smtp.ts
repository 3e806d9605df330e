/** E-mail. */

import { connect } from 'node:net';
import { createTransport } from 'nodemailer';
import type { SMTPTransportGetSocket } from 'nodemailer/lib/smtp-transport';
import { messageOf } from '../../lib/log.ts';
import { textWithLinks } from '../message.ts';
import type { TargetSettings } from '../settings.ts';
import { SendFailure, type Target } from '../target.ts';

/** From here on a mail server refuses for good. */
const PERMANENT = 500;
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

export function smtp({ url = '', from = '', to = [], timeoutMs }: TargetSettings): Target {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const hasPassword = username !== '';
  const options = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // A password does not leave the machine unencrypted.
    requireTLS: hasPassword && !LOOPBACK.test(hostname),
    ...(hasPassword && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  return {
    send: async (message, signal) => {
      signal.throwIfAborted();
      const getSocket: SMTPTransportGetSocket = ({ host, port = 0 }, callback) => {
        // Of the library's own connections none could be ended early: a mail might be sent after all, and once more later.
        const connection = connect({ host, port: Number(port), signal });
        connection.on('error', () => {});
        connection.once('error', callback);
        connection.once('connect', () => {
          connection.off('error', callback);
          callback(null, { connection });
        });
      };
      const transport = createTransport({ ...options, getSocket });
      const aborted = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      try {
        const sending = transport.sendMail({
          from,
          to: [...to],
          subject: message.title,
          text: `${textWithLinks(message)}\n`,
          // A repetition is recognized by it.
          messageId: `<${message.id}@meanwhile.local>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        await Promise.race([sending, aborted]);
      } catch (error) {
        throw signal.aborted ? error : failureFrom(error);
      } finally {
        transport.close();
      }
    },
  };
}

/** A wrong password or address may be corrected, or be wrong for a moment only: it is tried again. */
function failureFrom(error: unknown): SendFailure {
  const { responseCode } = error as { responseCode?: number };
  const kind = responseCode !== undefined && responseCode >= PERMANENT ? 'refused: ' : '';
  return new SendFailure(`${kind}${messageOf(error)}`);
}
