/** Tools with a user interface refer to its resource, whose URI must name the server in a group. */

import type { ListItem } from '../../lib/pages.ts';
import { isObject } from '../../lib/values.ts';
import { alwaysNamesServer, namingServer } from './uris.ts';

/** Where else than in `ui.resourceUri` the metadata of a tool refers to its resource: earlier clients read these. */
const FLAT_KEYS = ['ui/resourceUri', 'openai/outputTemplate'];

export function withServerInUi(server: string, tool: ListItem): ListItem {
  const { _meta } = tool;
  if (!isObject(_meta)) return tool;
  const meta = { ..._meta };
  for (const key of FLAT_KEYS) if (key in meta) meta[key] = named(server, meta[key]);
  const { ui } = _meta;
  if (isObject(ui) && 'resourceUri' in ui) meta['ui'] = { ...ui, resourceUri: named(server, ui['resourceUri']) };
  return { ...tool, _meta: meta };
}

function named(server: string, uri: unknown): unknown {
  return typeof uri === 'string' && alwaysNamesServer(uri) ? namingServer(server, uri) : uri;
}
