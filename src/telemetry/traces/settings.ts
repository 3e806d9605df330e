/** The settings of traces, from the environment variables that OpenTelemetry defines. */

import { samplerNamed, type Sampler } from './sampler.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface TraceSettings {
  url: URL;
  headers: Record<string, string>;
  /** What all spans have in common. */
  resource: Record<string, string>;
  sampler: Sampler;
  timeoutMs: number;
  /** How long spans wait for others to be sent with. */
  delayMs: number;
  batchSize: number;
  /** How many spans may wait; more are dropped. */
  queueSize: number;
}

/** `undefined` if there is nowhere to send to. A mistake in a variable does not stop the gateway: it is one for all programs. */
export function traceSettings(env: Environment): { settings: TraceSettings | undefined; warnings: string[] } {
  const warnings: string[] = [];
  const url = endpoint(env, warnings);
  if (url === undefined || isOff(env)) return { settings: undefined, warnings };
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (protocol === 'grpc') {
    warnings.push(
      'OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent as http/json, not grpc; the usual port for that is 4318',
    );
  }
  const number = (name: string, standard: number): number => numberIn(env, name, standard, warnings);
  const settings = {
    url,
    headers: {
      ...pairs(env, 'OTEL_EXPORTER_OTLP_HEADERS', warnings),
      ...pairs(env, 'OTEL_EXPORTER_OTLP_TRACES_HEADERS', warnings),
    },
    resource: {
      'service.name': 'meanwhile',
      ...pairs(env, 'OTEL_RESOURCE_ATTRIBUTES', warnings),
      ...(env['OTEL_SERVICE_NAME'] && { 'service.name': env['OTEL_SERVICE_NAME'] }),
    },
    sampler: samplerIn(env, warnings),
    timeoutMs: number('OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5000),
    batchSize: number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512),
    queueSize: number('OTEL_BSP_MAX_QUEUE_SIZE', 2048),
  };
  return { settings, warnings };
}

function isOff(env: Environment): boolean {
  return env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none';
}

function endpoint(env: Environment, warnings: string[]): URL | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'];
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  const name = own ? 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT' : 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const text = own || shared;
  if (!text) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    // Its text may hold a secret.
    warnings.push(`${name}: expected a URL such as http://127.0.0.1:4318; spans are not sent`);
    return undefined;
  }
  if (!own) url.pathname = `${url.pathname.replace(/\/$/, '')}/v1/traces`;
  return url;
}

function samplerIn(env: Environment, warnings: string[]): Sampler {
  const name = env['OTEL_TRACES_SAMPLER'] || 'parentbased_always_on';
  const given = env['OTEL_TRACES_SAMPLER_ARG'];
  const ratio = given ? Number(given) : 1;
  if (name.endsWith('traceidratio') && !(ratio >= 0 && ratio <= 1)) {
    warnings.push(`OTEL_TRACES_SAMPLER_ARG: expected a number from 0 to 1; 1 is used`);
  }
  const sampler = samplerNamed(name, ratio >= 0 && ratio <= 1 ? ratio : 1);
  if (sampler !== undefined) return sampler;
  warnings.push(
    'OTEL_TRACES_SAMPLER: expected always_on, always_off, traceidratio, or one of these with parentbased_ in front; ' +
      'parentbased_always_on is used',
  );
  return samplerIn({}, warnings);
}

function numberIn(env: Environment, name: string, standard: number, warnings: string[]): number {
  const text = env[name];
  if (!text) return standard;
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  warnings.push(`${name}: expected a whole number; ${standard} is used`);
  return standard;
}

/** `key=value,key=value`, with percent-encoded values. */
function pairs(env: Environment, name: string, warnings: string[]): Record<string, string> {
  const parts = (env[name] ?? '').split(',').filter((part) => part.trim() !== '');
  const found = parts.map((part): [string, string] | undefined => {
    const equals = part.indexOf('=');
    const key = part.slice(0, equals).trim();
    return equals < 1 || key === '' ? undefined : [key, decoded(part.slice(equals + 1).trim())];
  });
  if (found.includes(undefined))
    warnings.push(`${name}: expected key=value,key=value; what is not like this is ignored`);
  return Object.fromEntries(found.filter((pair) => pair !== undefined));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
