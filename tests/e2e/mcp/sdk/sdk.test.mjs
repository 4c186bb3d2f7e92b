// Every tool, resource and prompt, through the official clients, before a real engine.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { Ajv } from 'ajv';

import { connect, kinds } from './clients.mjs';
import { Daemon } from './daemon.mjs';

const programs = process.argv[2];
const image = 'sandbox-base-busybox:local';
const nobody = '00000000-0000-7000-8000-000000000000';
// Strict but for one rule: what may be null has properties and no type.
const ajv = new Ajv({ strict: true, strictTypes: false, allErrors: true });

let daemon;
before(async () => (daemon = await Daemon.start(programs)));
after(async () => daemon.stop());

// The connection's tools as functions: each checks what it is given and what it gives against the tool's schemas.
async function toolsOf(connection) {
  const { client } = connection;
  const { tools } = await client.listTools();
  const schemas = new Map(
    tools.map((tool) => [tool.name, { input: ajv.compile(tool.inputSchema), output: ajv.compile(tool.outputSchema) }]),
  );
  const called = new Set();
  const call = async (name, args = {}, options = undefined, failing = false) => {
    const { input, output } = schemas.get(name);
    assert.ok(input(args), `${name} takes ${JSON.stringify(args)}: ${ajv.errorsText(input.errors)}`);
    const result = await client.callTool({ name, arguments: args }, ...(connection.kind.name === 'sdk 1' ? [undefined] : []), options);
    called.add(name);
    assert.ok(output(result.structuredContent), `${name} gives: ${ajv.errorsText(output.errors)}`);
    assert.equal(result.isError ?? false, failing, JSON.stringify(result.content));
    assert.equal(result.content.length, 1);
    assert.ok(result.content[0].text.length > 0);
    if (failing) assert.ok(result.content[0].text.startsWith(result.structuredContent.error));
    return result;
  };
  return { tools, call, fails: (name, args) => call(name, args, undefined, true), called };
}

async function useEveryTool({ call, fails, called, tools }, tenant) {
  assert.equal((await call('sandbox_health')).structuredContent.health.status, 'ok');
  assert.equal((await call('sandbox_agent_list')).structuredContent.agents.length, 7);

  const spec = { tenant, image, memory_mib: 128, disk_mib: 64, env: { KEY: 'secret-value' }, command: ['sleep', '600'] };
  const made = await call('sandbox_create', { ...spec, generated_code: true, labels: { a: 'b' } });
  const id = made.structuredContent.sandbox.id;
  assert.equal(made.structuredContent.sandbox.state, 'running');
  assert.ok(!JSON.stringify(made).includes('secret-value'));

  const ran = await call('sandbox_exec', { sandbox_id: id, argv: ['cat'], stdin: 'hello' });
  assert.equal(ran.structuredContent.operation.output.stdout, 'hello');
  await fails('sandbox_exec', { sandbox_id: id, argv: ['sh', '-c', 'exit 3'] });
  await fails('sandbox_exec', { sandbox_id: nobody, argv: ['true'] });
  const long = await call('sandbox_exec', { sandbox_id: id, argv: ['seq', '1', '5000'] });
  const operation_id = long.structuredContent.operation.id;
  const page = await call('sandbox_operation', { operation_id, stream: 'stdout', offset: 10000, limit: 100 });
  assert.equal(page.structuredContent.page.bytes, 100);
  await call('sandbox_operation', { operation_id });

  const begun = await call('sandbox_exec', { sandbox_id: id, argv: ['sleep', '2'], wait: false });
  const waiting = { operation_id: begun.structuredContent.operation.id };
  assert.notEqual((await call('sandbox_wait', { ...waiting, timeout_seconds: 0 })).structuredContent.operation.state, 'succeeded');
  assert.equal((await call('sandbox_wait', waiting)).structuredContent.operation.state, 'succeeded');

  assert.equal((await call('sandbox_list', { tenant })).structuredContent.sandboxes.length, 1);
  assert.equal((await call('sandbox_inspect', { sandbox_id: id })).structuredContent.sandbox.startup.running, true);
  await fails('sandbox_inspect', { sandbox_id: nobody });
  await call('sandbox_extend', { sandbox_id: id, ttl_seconds: 7200 });
  await fails('sandbox_create', { tenant, image: 'no-such-image:local' });
  await fails('sandbox_create', { tenant, image, memory_mib: 100_000_000 });
  await fails('sandbox_tunnel_create', { sandbox_id: id, container_port: 8080 });
  await fails('sandbox_tunnel_delete', { sandbox_id: id, tunnel_id: nobody });

  const agent = await call('sandbox_agent_run', { agent: 'codex', tenant, image, network: 'deny' });
  assert.equal(agent.structuredContent.agent_command, null);
  const agentSandbox = agent.structuredContent.sandbox.id;
  await call('sandbox_delete', { sandbox_id: agentSandbox });
  const argued = await fails('sandbox_agent_run', { agent: 'codex', tenant, image, network: 'deny', args: ['--help'] });
  assert.deepEqual(argued.structuredContent.agent_command, ['codex', '--help']);
  await call('sandbox_delete', { sandbox_id: argued.structuredContent.sandbox.id });

  assert.deepEqual([...called].sort(), tools.map((tool) => tool.name).sort(), 'every tool was called');
  return { id, operation_id };
}

async function useEveryResource({ client }, { id, operation_id }) {
  const { resources } = await client.listResources();
  assert.equal(resources.length, 3);
  for (const { uri, mimeType } of resources) {
    const { contents } = await client.readResource({ uri });
    assert.equal(contents[0].uri, uri);
    assert.equal(contents[0].mimeType, mimeType);
    assert.ok(contents[0].text.length > 100);
  }
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 2);
  const sandbox = await client.readResource({ uri: `sandbox://sandboxes/${id}` });
  assert.equal(JSON.parse(sandbox.contents[0].text).id, id);
  assert.ok(!sandbox.contents[0].text.includes('secret-value'));
  const operation = await client.readResource({ uri: `sandbox://operations/${operation_id}` });
  assert.equal(JSON.parse(operation.contents[0].text).id, operation_id);
  await assert.rejects(client.readResource({ uri: `sandbox://sandboxes/${nobody}` }), (error) =>
    [-32002, -32602].includes(error.code));
}

async function useEveryPrompt({ client }) {
  const { prompts } = await client.listPrompts();
  const values = { tenant: 'team', image, task: 'count to ten', agent: 'codex', network: 'restricted' };
  for (const prompt of prompts) {
    const args = Object.fromEntries(prompt.arguments.map(({ name }) => [name, values[name]]));
    const { messages } = await client.getPrompt({ name: prompt.name, arguments: args });
    assert.equal(messages.length, 1);
    assert.ok(messages[0].content.text.includes('count to ten'));
    await assert.rejects(client.getPrompt({ name: prompt.name, arguments: {} }), { code: -32602 });
  }
  assert.equal(prompts.length, 2);
}

async function complete({ client }, { id }) {
  const agents = await client.complete({
    ref: { type: 'ref/prompt', name: 'sandbox-agent-session' },
    argument: { name: 'agent', value: 'c' },
  });
  assert.deepEqual(agents.completion.values, ['codex', 'claude', 'commandcode']);
  const ids = await client.complete({
    ref: { type: 'ref/resource', uri: 'sandbox://sandboxes/{id}' },
    argument: { name: 'id', value: id.slice(0, 30) },
  });
  assert.deepEqual(ids.completion.values, [id]);
}

async function watchAndCancel({ client }, { call }, { id }) {
  const seen = [];
  // Progress comes every second. The end is not on a second: what the library reads in one go with the answer, it takes
  // for progress of a call that is over.
  await call('sandbox_exec', { sandbox_id: id, argv: ['sleep', '2.5'] }, { onprogress: (progress) => seen.push(progress) });
  assert.ok(seen.length >= 1);
  for (let i = 1; i < seen.length; ++i) assert.ok(seen[i].progress > seen[i - 1].progress);
  assert.match(seen.at(-1).message, /running/);

  const controller = new AbortController();
  const aborted = call('sandbox_exec', { sandbox_id: id, argv: ['sleep', '60'] }, { signal: controller.signal });
  let running;
  do {
    await sleep(100);
    const { operations } = await daemon.get(`/v1/operations?sandbox_id=${id}&limit=1`);
    running = operations[0];
  } while (running.state !== 'running');
  controller.abort('no longer wanted');
  await assert.rejects(aborted);
  const { operation } = await daemon.get(`/v1/operations/${running.id}?wait_seconds=60`);
  assert.equal(operation.state, 'failed');
  assert.equal(operation.output.exit_code, 137);
}

for (const kind of kinds) {
  test(`${kind.name}: every tool, resource and prompt`, { timeout: 300_000 }, async (t) => {
    const connection = await connect(kind, programs, daemon.url);
    t.after(() => connection.client.close());
    const { client } = connection;
    assert.equal(client.getServerVersion().name, 'sandbox-mcp');
    assert.ok(client.getInstructions().length > 0);
    const tools = await toolsOf(connection);
    assert.equal(tools.tools.length, 13);
    const tenant = kind.name.replaceAll(/\W+/g, '-');
    const made = await useEveryTool(tools, tenant);
    await useEveryResource(connection, made);
    await useEveryPrompt(connection);
    await complete(connection, made);
    await watchAndCancel(connection, tools, made);
    if (!kind.modern) {
      await client.ping();
      await client.setLoggingLevel('debug');
    }
    await assert.rejects(client.callTool({ name: 'no_such_tool', arguments: {} }), { code: -32602 });
    await tools.call('sandbox_delete', { sandbox_id: made.id });
    await client.close();
    assert.deepEqual(connection.objections, []);
    assert.ok(connection.messages.length > 30);
    if (kind.modern) {
      const results = connection.messages.filter((message) => message.result);
      assert.ok(results.every((message) => message.result.resultType === 'complete'));
    }
  });
}

test('a read-only bridge offers six tools to each of them', { timeout: 60_000 }, async (t) => {
  for (const kind of kinds) {
    const connection = await connect(kind, programs, daemon.url, ['--read-only', '--tenant', 'somebody']);
    t.after(() => connection.client.close());
    const { tools, call } = await toolsOf(connection);
    assert.equal(tools.length, 6);
    assert.deepEqual((await call('sandbox_list')).structuredContent.sandboxes, []);
    await connection.client.close();
    assert.deepEqual(connection.objections, []);
  }
});
