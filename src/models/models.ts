/** The models of the config: each sampling request becomes one request to the endpoint of a model. */

import { ModelRefused, type ModelReply, type Models } from '../core/ports/models.ts';
import type { Clock } from '../lib/clock.ts';
import { shortenText } from '../lib/shorten.ts';
import { anthropic } from './anthropic.ts';
import type { WireFormat } from './format.ts';
import { openai } from './openai.ts';
import { KeyRefused, masked, postJson, SHOWN_CHARS } from './post-json.ts';
import { readPrompt } from './prompt.ts';

export interface ModelEndpoint {
  api: 'openai' | 'anthropic';
  url?: string | undefined;
  key?: string | undefined;
  /** The variable that has the key. */
  keyVariable?: string | undefined;
  model: string;
  timeoutMs: number;
}

export interface ModelsOptions {
  endpoints: Readonly<Record<string, ModelEndpoint>>;
  /** The largest response. */
  maxBytes: number;
  clock: Clock;
}

const FORMATS: Record<ModelEndpoint['api'], WireFormat> = { openai, anthropic };

export function createModels({ endpoints, maxBytes, clock }: ModelsOptions): Models {
  return {
    ask: async (name, params, signal): Promise<ModelReply> => {
      const endpoint = endpoints[name];
      if (endpoint === undefined) throw new ModelRefused(`there is no model '${name}'`);
      const { api, key, model, timeoutMs } = endpoint;
      const format = FORMATS[api];
      const base = endpoint.url ?? format.url;
      const { body, read } = prepared(() => format.exchange(readPrompt(params), model, base));
      const url = `${base.replace(/\/+$/, '')}/${format.path}`;
      try {
        const headers = format.headers(key);
        const response = await postJson({ url, headers, body, key, timeoutMs, maxBytes, signal, clock });
        return understood(() => read(response), key);
      } catch (error) {
        throw error instanceof KeyRefused ? keyRefused(error, endpoint, name) : error;
      }
    },
  };
}

/** A request that cannot be sent costs nothing. */
function prepared<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    throw new ModelRefused((error as Error).message, { cause: error });
  }
}

/** Reports unexpected responses without the key, which an endpoint may echo. */
function understood<T>(read: () => T, key: string | undefined): T {
  try {
    return read();
  } catch (error) {
    throw new Error(shortenText(masked((error as Error).message, key), SHOWN_CHARS), { cause: error });
  }
}

function keyRefused({ message }: KeyRefused, { key, keyVariable }: ModelEndpoint, name: string): ModelRefused {
  if (key === undefined) return new ModelRefused(`its endpoint requires a key (${message}): set models.${name}.key`);
  return new ModelRefused(
    `its endpoint refused the key (${message}): check the variable ${keyVariable ?? `in models.${name}.key`}`,
  );
}
