/** Validates what clients declare about themselves, in `initialize` or with each request. */

import { isBigNumber, isText } from '../lib/exact-json.ts';
import { isLevel, LEVELS } from '../lib/levels.ts';
import { CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY, VERSION_KEY } from '../lib/protocol.ts';
import { isObject } from '../lib/values.ts';
import { isRequestId, type Params, type RequestId } from './message.ts';

/** The first field that is missing or has the wrong type. */
export interface ClientInfoMistake {
  key: string;
  problem: string;
}

type Type = 'text' | 'flag' | 'object' | 'objects' | Shape;

/** The types of the fields of an object. Other fields may have any value. */
interface Shape {
  [field: string]: Type;
}

const CLIENT_INFO: Shape = { name: 'text', version: 'text', title: 'text', websiteUrl: 'text', description: 'text' };
const REQUIRED_CLIENT_INFO = ['name', 'version'];

const CAPABILITIES: Shape = {
  experimental: 'objects',
  sampling: { context: 'object', tools: 'object' },
  elicitation: { form: { applyDefaults: 'flag' }, url: 'object' },
  roots: { listChanged: 'flag' },
  extensions: 'objects',
};

/** The mistake in the `_meta` of a modern request, which describes its client. */
export function metaMistake(meta: Params): ClientInfoMistake | undefined {
  for (const key of [VERSION_KEY, CLIENT_CAPABILITIES_KEY]) if (!(key in meta)) return { key, problem: 'missing' };
  if (!isText(meta[VERSION_KEY])) return wrongType(VERSION_KEY, 'string', meta[VERSION_KEY]);
  const level = meta[LOG_LEVEL_KEY];
  return (
    infoMistake(meta[CLIENT_INFO_KEY], CLIENT_INFO_KEY) ??
    mistakeIn(meta[CLIENT_CAPABILITIES_KEY], CAPABILITIES, CLIENT_CAPABILITIES_KEY) ??
    (level === undefined || isLevel(level) ? undefined : { key: LOG_LEVEL_KEY, problem: UNKNOWN_LEVEL })
  );
}

/** The parameters of `initialize`. */
export interface Initialization extends Params {
  protocolVersion: string;
  capabilities: Params;
  clientInfo: { name: string; version: string };
}

/** The mistake in the parameters of `initialize`. */
export function initializeMistake({
  protocolVersion,
  capabilities,
  clientInfo,
}: Params): ClientInfoMistake | undefined {
  if (!isText(protocolVersion)) return wrongType('protocolVersion', 'string', protocolVersion);
  if (clientInfo === undefined) return { key: 'clientInfo', problem: 'missing' };
  return mistakeIn(capabilities, CAPABILITIES, 'capabilities') ?? infoMistake(clientInfo, 'clientInfo');
}

/** Whether this message starts a session: a request, since a notification would get no reply. */
export function isInitialize(message: unknown): message is { id: RequestId; params: Initialization } {
  if (!isObject(message) || message['method'] !== 'initialize') return false;
  const { id, params } = message;
  return isRequestId(id) && isObject(params) && initializeMistake(params) === undefined;
}

function infoMistake(info: unknown, key: string): ClientInfoMistake | undefined {
  if (info === undefined) return undefined;
  const mistake = mistakeIn(info, CLIENT_INFO, key);
  if (mistake !== undefined || !isObject(info)) return mistake;
  const missing = REQUIRED_CLIENT_INFO.find((name) => info[name] === undefined);
  return missing === undefined ? undefined : wrongType(`${key}.${missing}`, 'string', undefined);
}

const UNKNOWN_LEVEL = `Invalid option: expected one of ${LEVELS.map((level) => `"${level}"`).join('|')}`;

/** The type names that the SDK uses in its errors. */
const EXPECTED = { text: 'string', flag: 'boolean', object: 'record', objects: 'record' };

function wrongType(key: string, expected: string, value: unknown): ClientInfoMistake {
  return { key, problem: `Invalid input: expected ${expected}, received ${typeName(value)}` };
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return isBigNumber(value) ? 'number' : typeof value;
}

function mistakeIn(value: unknown, type: Type, key: string): ClientInfoMistake | undefined {
  switch (type) {
    case 'text':
      return isText(value) ? undefined : wrongType(key, EXPECTED[type], value);
    case 'flag':
      return typeof value === 'boolean' ? undefined : wrongType(key, EXPECTED[type], value);
    case 'object':
      return isObject(value) ? undefined : wrongType(key, EXPECTED[type], value);
    case 'objects':
      if (!isObject(value)) return wrongType(key, EXPECTED[type], value);
      for (const field in value) {
        if (!isObject(value[field])) return wrongType(`${key}.${field}`, 'record', value[field]);
      }
      return undefined;
    default:
      return mistakeInFields(value, type, key);
  }
}

function mistakeInFields(value: unknown, shape: Shape, key: string): ClientInfoMistake | undefined {
  if (!isObject(value)) return wrongType(key, 'object', value);
  for (const field in value) {
    const type = Object.hasOwn(shape, field) ? shape[field] : undefined;
    const mistake = type === undefined ? undefined : mistakeIn(value[field], type, `${key}.${field}`);
    if (mistake !== undefined) return mistake;
  }
  return undefined;
}
