import { SERVER_INFO_KEY, SUBSCRIPTION_ID_KEY } from '../../lib/protocol.ts';
import { INVALID_PARAMS } from '../../lib/rpc-error.ts';
import { isObject } from '../../lib/values.ts';
import type { Message, RequestMessage } from '../message.ts';

const FLAGS = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged'];

/** The messages that answer `subscriptions/listen`: the hub sends no notifications, so a subscription ends immediately. */
export function emptySubscription({ id, params = {} }: RequestMessage, serverInfo: object): Message[] {
  if (!isFilter(params['notifications'])) {
    const message = "Invalid params: 'notifications' is required and must be a valid SubscriptionFilter";
    return [{ jsonrpc: '2.0', id, error: { code: INVALID_PARAMS, message } }];
  }
  const acknowledgement = { notifications: {}, _meta: { [SUBSCRIPTION_ID_KEY]: id } };
  const result = { resultType: 'complete', _meta: { [SUBSCRIPTION_ID_KEY]: id, [SERVER_INFO_KEY]: serverInfo } };
  return [
    { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: acknowledgement },
    { jsonrpc: '2.0', id, result },
  ];
}

function isFilter(filter: unknown): boolean {
  if (!isObject(filter)) return false;
  const { resourceSubscriptions: uris } = filter;
  if (uris !== undefined && !(Array.isArray(uris) && uris.every((uri) => typeof uri === 'string'))) return false;
  return FLAGS.every((flag) => filter[flag] === undefined || typeof filter[flag] === 'boolean');
}
