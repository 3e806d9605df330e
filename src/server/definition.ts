import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { ServerInfo } from '../core/ports/connection.ts';
import { closest } from '../lib/closest.ts';
import { messageOf } from '../lib/log.ts';
import { MODERN_VERSION } from '../lib/protocol.ts';
import { summary } from '../lib/schema/issue.ts';
import { serverNameSchema } from '../lib/server-name.ts';
import { isObject } from '../lib/values.ts';
import type { RequestHandler, TaskServerOptions, ToolDefinition } from './types.ts';

/** Names in config files may contain spaces; a server that names itself has `title` for that. */
const ownName = serverNameSchema.refine((text) => !text.includes(' '), 'a name has no spaces');

const TOOL_NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** Methods that the core or the protocol implements. */
const TAKEN =
  /^(?:initialize|ping|(?:tools|tasks|server|logging|subscriptions|notifications)\/.*|resources\/(?:un)?subscribe)$/;

/** The capability to declare for handlers of these methods, by the first part of the method. */
const CAPABILITIES: Record<string, string> = { resources: 'resources', prompts: 'prompts', completion: 'completions' };

const validator = new AjvJsonSchemaValidator();

export interface Tool extends Pick<ToolDefinition, 'run'> {
  name: string;
  repeatable: boolean;
  /** Describes why arguments do not match the schema; `undefined` if they do. */
  mistake: (args: unknown) => string | undefined;
  /** As `tools/list` shows it. */
  shown: Record<string, unknown>;
}

/** The validated options of a server. */
export interface Definition {
  name: string;
  info: ServerInfo;
  tools: ReadonlyMap<string, Tool>;
  requests: ReadonlyMap<string, RequestHandler>;
}

/** The options of `createTaskServer`. */
const OPTIONS = [
  'name',
  'version',
  'title',
  'instructions',
  'tools',
  'requests',
  'store',
  'tasks',
  'settings',
] satisfies (keyof TaskServerOptions)[];

/** The fields of a tool; `icons` and `execution` are passed to clients as they are. */
const TOOL_FIELDS = [
  'run',
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  '_meta',
  'repeatable',
  'icons',
  'execution',
];

/** Throws for mistakes that would otherwise appear only when a client connects. */
export function define(options: TaskServerOptions): Definition {
  if (!isObject(options)) wrong("the options are missing; give at least 'name', 'version' and 'tools'");
  const { name, version, title, instructions, tools, requests = {} } = options;
  refuseUnknown('', options, OPTIONS);
  if (name === undefined) wrong("'name' is missing; for example 'shop'");
  const named = ownName.safeParse(name);
  if (!named.success)
    wrong(`name ${JSON.stringify(name)}: a name for people goes into 'title'; ${summary(named.issues.slice(0, 1))}`);
  if (typeof version !== 'string' || version === '') wrong("'version' is missing; for example '1.0.0'");
  if (!isObject(tools) || Object.keys(tools).length === 0) wrong("'tools' is empty; define at least one tool");
  for (const [method, handler] of Object.entries(requests)) {
    if (TAKEN.test(method)) wrong(`requests['${method}']: the server already answers this method; leave it out`);
    if (typeof handler !== 'function') wrong(`requests['${method}'] is not a function`);
  }
  return {
    name,
    info: {
      traits: { sessions: false, asksInRounds: true, declaredPerRequest: true },
      protocolVersion: MODERN_VERSION,
      capabilities: { tools: {}, ...capabilitiesOf(Object.keys(requests)) },
      implementation: { name, version, ...(title !== undefined && { title }) },
      ...(instructions !== undefined && { instructions }),
    },
    tools: new Map(Object.entries(tools).map(([each, tool]) => [each, defineTool(each, tool)])),
    requests: new Map(Object.entries(requests)),
  };
}

function defineTool(name: string, tool: ToolDefinition): Tool {
  if (!TOOL_NAME.test(name)) wrong(`tools['${name}']: a name has 1 to 128 of the characters A-Z a-z 0-9 _ . -`);
  if (!isObject(tool)) wrong(`tools['${name}'] is not an object; give it a 'run' function`);
  refuseUnknown(`tools['${name}']: `, tool, TOOL_FIELDS);
  const { repeatable = false, inputSchema = { type: 'object' } } = tool;
  if (typeof tool.run !== 'function') wrong(`tools['${name}'].run is not a function`);
  const told = Object.entries(tool).filter(([field]) => field !== 'run' && field !== 'repeatable');
  return {
    name,
    run: (args, task) => tool.run(args, task),
    repeatable,
    mistake: checker(name, inputSchema),
    shown: { ...Object.fromEntries(told), name, inputSchema },
  };
}

function checker(tool: string, schema: unknown): Tool['mistake'] {
  const place = `tools['${tool}'].inputSchema`;
  if (!isObject(schema) || schema['type'] !== 'object') {
    wrong(`${place} is not the JSON Schema of an object; for example { type: 'object', properties: { … } }`);
  }
  try {
    // A shared validator would mix up two schemas with the same id.
    const validate = ('$id' in schema ? new AjvJsonSchemaValidator() : validator).getValidator(schema);
    return (args) => {
      const { valid, errorMessage } = validate(args);
      return valid ? undefined : errorMessage;
    };
  } catch (error) {
    wrong(`${place} is not a valid JSON Schema: ${messageOf(error)}`);
  }
}

function capabilitiesOf(methods: string[]): Record<string, unknown> {
  const named = methods.map((method) => CAPABILITIES[method.split('/', 1)[0] ?? '']);
  return Object.fromEntries(named.flatMap((capability) => (capability === undefined ? [] : [[capability, {}]])));
}

/** A misspelt key would otherwise be ignored. */
function refuseUnknown(place: string, given: object, known: readonly string[]): void {
  const key = Object.keys(given).find((each) => !known.includes(each));
  if (key === undefined) return;
  const near = closest(key, known);
  wrong(
    `${place}unknown key '${key}'; ${near === undefined ? `known: ${known.join(', ')}` : `did you mean '${near}'?`}`,
  );
}

function wrong(message: string): never {
  throw new TypeError(`createTaskServer: ${message}`);
}
