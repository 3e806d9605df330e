import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Json } from './way.ts';

/** The `auth` of the server in the config, where a scenario needs one. */
export function authFor(scenario: string, context: Json): Json | undefined {
  const { client_id: clientId, client_secret: clientSecret } = context;
  switch (scenario) {
    case 'auth/basic-cimd':
      return { clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' };
    case 'auth/pre-registration':
      return { clientId, clientSecret };
    case 'auth/client-credentials-basic':
      return { grant: 'client_credentials', clientId, clientSecret };
    case 'auth/client-credentials-jwt':
      return {
        grant: 'client_credentials',
        clientId,
        privateKeyFile: keyFile(context),
        algorithm: context['signing_algorithm'],
      };
    default:
      return undefined;
  }
}

/** It has to stay as long as the program runs. */
function keyFile({ private_key_pem: pem }: Json): string {
  const file = join(mkdtempSync(join(tmpdir(), 'meanwhile-conformance-')), 'key.pem');
  writeFileSync(file, String(pem), { mode: 0o600 });
  process.once('exit', () => rmSync(file, { force: true }));
  return file;
}
