/** The TLS parameters of a URL, with the same meaning as in libpq. */

const MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

export type SslMode = (typeof MODES)[number];

export interface TlsSettings {
  mode: SslMode;
  /** TLS starts immediately, without asking the server whether it supports TLS. */
  isDirect: boolean;
  /** Files. */
  authority?: string;
  certificate?: string;
  key?: string;
  /** The passphrase of the key. */
  passphrase?: string;
}

/** Unsupported requirements, and what to do instead. Other values of these parameters have no effect. */
const REFUSED_IF_REQUIRED = {
  channel_binding: 'omit it: sslmode=verify-full with sslrootcert also verifies the server',
  gssencmode: 'omit it, and use sslmode=verify-full with sslrootcert',
};

/** Takes them out of the others. Fails with a message that names the parameter. */
export function takeTls(parameters: URLSearchParams): TlsSettings {
  const take = (name: string): string | undefined => {
    const value = parameters.getAll(name).at(-1);
    parameters.delete(name);
    return value === '' ? undefined : value;
  };
  for (const [name, fix] of Object.entries(REFUSED_IF_REQUIRED))
    if (take(name) === 'require') throw new Error(`${name}=require is not supported; ${fix}`);
  const root = take('sslrootcert');
  const mode = modeOf(take('sslmode') ?? likeSslmode(take('ssl')), root);
  parameters.delete('ssl');
  const negotiation = take('sslnegotiation') ?? 'postgres';
  const [certificate, key, passphrase] = [take('sslcert'), take('sslkey'), take('sslpassword')];
  if ((certificate === undefined) !== (key === undefined))
    throw new Error('sslcert and sslkey must be set together: the file of the certificate and the file of its key');
  if (!['postgres', 'direct'].includes(negotiation))
    throw new Error('sslnegotiation is unknown; use postgres or direct');
  const isDirect = negotiation === 'direct';
  if (isDirect && isWeak(mode))
    throw new Error('sslnegotiation=direct needs sslmode=require, verify-ca or verify-full');
  return {
    mode,
    isDirect,
    ...(root !== undefined && root !== 'system' && { authority: root }),
    ...(certificate !== undefined && { certificate }),
    ...(key !== undefined && { key }),
    ...(passphrase !== undefined && { passphrase }),
  };
}

/** Whether the mode allows plaintext. */
export const isWeak = (mode: SslMode): boolean => ['disable', 'allow', 'prefer'].includes(mode);

/** `ssl` is the name in other drivers. */
function likeSslmode(ssl: string | undefined): string | undefined {
  if (ssl === 'true') return 'require';
  return ssl === 'false' ? 'disable' : ssl;
}

function modeOf(given: string | undefined, root: string | undefined): SslMode {
  const mode = MODES.find((each) => each === (given ?? (root === 'system' ? 'verify-full' : 'prefer')));
  if (mode === undefined) throw new Error(`sslmode is unknown; use one of ${MODES.join(', ')}`);
  // Anyone can get a certificate from public authorities: without checking the host name it proves nothing.
  if (root === 'system' && mode !== 'verify-full') throw new Error('sslrootcert=system needs sslmode=verify-full');
  return mode;
}
