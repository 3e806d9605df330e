import * as sdk from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import * as protocol from './protocol.ts';

test('L-3: protocol versions and _meta keys are the same as in the SDK', () => {
  expect(protocol.SESSION_VERSIONS).toEqual(sdk.SUPPORTED_PROTOCOL_VERSIONS);
  expect(protocol.LATEST_WITH_SESSIONS).toBe(sdk.LATEST_PROTOCOL_VERSION);
  expect(protocol.VERSION_KEY).toBe(sdk.PROTOCOL_VERSION_META_KEY);
  expect(protocol.CLIENT_INFO_KEY).toBe(sdk.CLIENT_INFO_META_KEY);
  expect(protocol.CLIENT_CAPABILITIES_KEY).toBe(sdk.CLIENT_CAPABILITIES_META_KEY);
  expect(protocol.LOG_LEVEL_KEY).toBe(sdk.LOG_LEVEL_META_KEY);
  expect(protocol.SERVER_INFO_KEY).toBe(sdk.SERVER_INFO_META_KEY);
  expect(protocol.SUBSCRIPTION_ID_KEY).toBe(sdk.SUBSCRIPTION_ID_META_KEY);
});
