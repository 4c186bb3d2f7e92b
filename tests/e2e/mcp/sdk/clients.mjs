// One connection of each official client to the bridge; every message on it has passed the library's own schemas.
import { join } from 'node:path';

import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as TransportV2 } from '@modelcontextprotocol/client/stdio';
import { JSONRPCMessageSchema as MessageV2 } from '@modelcontextprotocol/core';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { JSONRPCMessageSchema as MessageV1 } from '@modelcontextprotocol/sdk/types.js';

const info = { name: 'sdk-test', version: '1.0.0' };

// What each of them speaks in the end.
export const kinds = [
  { name: 'sdk 1', modern: false, client: () => new ClientV1(info), Transport: TransportV1, Message: MessageV1 },
  ...[
    ['legacy', false],
    ['auto', true],
    [{ pin: '2026-07-28' }, true],
  ].map(([mode, modern]) => ({
    name: `client 2, ${typeof mode === 'string' ? mode : mode.pin}`,
    modern,
    client: () => new ClientV2(info, { versionNegotiation: { mode } }),
    Transport: TransportV2,
    Message: MessageV2,
  })),
];

// A connected client, what came over it, and whatever its library objected to.
export async function connect(kind, programs, url, options = []) {
  const transport = new kind.Transport({
    command: join(programs, 'sandbox-mcp'),
    args: options,
    env: { SANDBOX_URL: url },
    stderr: 'inherit',
  });
  const connection = { kind, messages: [], objections: [], transport };
  transport.onmessage = (message) => {
    connection.messages.push(message);
    const parsed = kind.Message.safeParse(message);
    if (!parsed.success) connection.objections.push(parsed.error);
  };
  connection.client = kind.client();
  connection.client.onerror = (error) => connection.objections.push(error);
  await connection.client.connect(transport);
  return connection;
}
