/** TLS on connections to PostgreSQL. Done here because the driver supports neither the files nor useful errors. */

import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isIP, type Socket } from 'node:net';
import { connect, createSecureContext, type SecureContext } from 'node:tls';
import { messageOf } from '../../lib/log.ts';
import type { Host } from './address.ts';
import { failWhenClosed, reached, withCode } from './socket.ts';
import type { TlsSettings } from './tls-settings.ts';

/** The length of the message, and the code that no version of the protocol has. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Reads the files for each connection, because certificates are renewed while a gateway runs. */
export async function contextOf(settings: TlsSettings): Promise<SecureContext> {
  const { authority, certificate, key, passphrase } = settings;
  const [ca, cert, ownKey] = await Promise.all([
    read('sslrootcert', authority),
    read('sslcert', certificate),
    read('sslkey', key),
  ]);
  if (ca !== undefined) checkIsCertificate('sslrootcert', authority, ca);
  if (cert !== undefined) checkIsCertificate('sslcert', certificate, cert);
  try {
    return createSecureContext({
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(ownKey !== undefined && { key: ownKey }),
      ...(passphrase !== undefined && { passphrase }),
    });
  } catch (error) {
    throw ofFile(`sslkey ${String(key)} cannot be used with sslcert ${String(certificate)}`, error);
  }
}

async function read(parameter: string, file: string | undefined): Promise<Buffer | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file);
  } catch (error) {
    throw ofFile(`${parameter} ${file} cannot be read`, error);
  }
}

/** Other files would be ignored silently. */
function checkIsCertificate(parameter: string, file: string | undefined, content: Buffer): void {
  try {
    void new X509Certificate(content);
  } catch (error) {
    throw ofFile(`${parameter} ${String(file)} is not a PEM certificate`, error);
  }
}

const ofFile = (what: string, error: unknown): Error => withCode('TLS_FILE', `${what}: ${messageOf(error)}`);

export async function offersTls(socket: Socket): Promise<boolean> {
  const answered = reached(socket, 'data');
  socket.write(SSL_REQUEST);
  const [answer] = (await answered) as [Buffer];
  // Additional bytes before TLS could be injected by an attacker.
  if (answer.length === 1 && (answer[0] === 0x53 || answer[0] === 0x4e)) return answer[0] === 0x53;
  throw withCode('NOT_POSTGRES', 'the response is not from a PostgreSQL server');
}

export async function secure(
  socket: Socket,
  { host }: Host,
  { mode, isDirect, authority }: TlsSettings,
  context: SecureContext,
): Promise<Socket> {
  const secured = connect({
    socket,
    secureContext: context,
    // Both are for the name in the certificate; an IP address is not sent.
    host,
    ...(isIP(host) === 0 && { servername: host }),
    ...(isDirect && { ALPNProtocols: ['postgresql'] }),
    // An explicit authority is always checked, whatever the mode.
    rejectUnauthorized: mode.startsWith('verify') || authority !== undefined,
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
  });
  failWhenClosed(secured);
  await reached(secured, 'secureConnect');
  return secured;
}
