-- What the control plane knows. Columns are typed where something is locked, summed or filtered by; the rest is JSON in
-- the domain's wire form. Bytes that may hold NUL (outputs, standard input) are kept as JSON text, which escapes it.
--
-- Locks are taken in this order, so that no two transactions wait for each other: a node's row, then sandboxes by id,
-- then one ledger. A sandbox's row is the lock of all its operations. Whoever skips what is locked may come in anyhow.

-- The store's clock: every lease, silence and expiry goes by it, and nothing else tells the time.
create function sandbox.now() returns timestamptz language sql stable as 'select pg_catalog.statement_timestamp()';

create table nodes (
    id uuid primary key,
    about jsonb not null,                        -- as it registered itself, but for what follows and its ledger
    warm_images jsonb not null,
    incarnation uuid,                            -- null: a worker that predates incarnations
    registration bigint not null default 1,      -- one more with each start of its process
    changed_by xid8 not null default pg_current_xact_id()
);

-- What changes with every placement and heartbeat, apart from the wide row above.
create table ledgers (
    node_id uuid primary key references nodes,
    registration bigint not null default 1,
    total_cpu bigint not null, total_memory bigint not null, total_disk bigint not null, total_pids bigint not null,
    -- by the live sandboxes
    held_cpu bigint not null default 0, held_memory bigint not null default 0,
    held_disk bigint not null default 0, held_pids bigint not null default 0,
    -- in use beyond the ledger as it stood at the last report
    beyond_cpu bigint not null default 0, beyond_memory bigint not null default 0,
    beyond_disk bigint not null default 0, beyond_pids bigint not null default 0,
    max_sandboxes bigint not null,               -- 0: no limit
    live bigint not null default 0,
    pressure real not null,
    last_seen timestamptz not null,
    drained boolean not null default false,      -- by an operator
    draining boolean not null,                   -- by an operator or the node itself
    stale boolean not null default false,        -- and its event is out
    lost boolean not null default false,
    version bigint not null default 1,           -- orders what controllers hear of it
    changed_by xid8 not null default pg_current_xact_id()
) with (fillfactor = 50);

create table sandboxes (
    id uuid primary key,
    tenant text not null,
    node_id uuid not null,                       -- of a row in nodes, which are never deleted
    state text not null check (state in ('scheduled', 'creating', 'running', 'stopping', 'stopped', 'failed')),
    isolation text not null,
    risk_score integer not null,
    cpu bigint not null, memory bigint not null, disk bigint not null, pids bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    expires_at timestamptz not null,
    ended_at timestamptz,                        -- when it became stopped or failed; null while it is live
    deletion uuid,                               -- the latest teardown's operation
    inventories_missed integer not null default 0,  -- in a row, while running
    abandoned boolean not null default false,    -- ended while its node was lost
    labels jsonb,                                -- null when there are none
    spec jsonb not null,
    failure text,
    tunnels jsonb not null default '[]',
    placement_reasons jsonb not null,
    startup jsonb,
    live_changed_by xid8 not null default pg_current_xact_id()  -- came to its node, or left it
) with (fillfactor = 70);
create index sandboxes_listed on sandboxes (created_at, id);
create index sandboxes_of_tenant on sandboxes (tenant, created_at, id);
-- No index has a state in it, so that the steps from scheduled to running and stopping touch none (HOT updates).
create index sandboxes_live on sandboxes (node_id) where ended_at is null;
create index sandboxes_expiring on sandboxes (expires_at) where ended_at is null;
create index sandboxes_ended on sandboxes (ended_at) include (state) where ended_at is not null;
create index sandboxes_abandoned on sandboxes (node_id) where abandoned;
create index sandboxes_labelled on sandboxes (live_changed_by) where labels is not null;

create sequence queue_places;

-- An operation with its one assignment.
create table operations (
    id uuid primary key,
    sandbox_id uuid not null references sandboxes on delete cascade,
    kind text not null check (kind in ('create', 'exec', 'expose', 'unexpose', 'delete')),
    state text not null check (state in ('pending', 'running', 'succeeded', 'failed')),
    created_at timestamptz not null,
    updated_at timestamptz not null,
    started_at timestamptz,
    ended_at timestamptz,                        -- null while it is pending or running
    phase text,
    argv jsonb,
    error text,
    output text,                                 -- JSON
    assignment_id uuid not null unique,
    node_id uuid not null,
    assignment_state text not null check (assignment_state in ('pending', 'leased', 'completed', 'failed')),
    attempt bigint not null default 0,           -- the fencing token: one more with each lease
    lease_until timestamptz,
    queue_place bigint not null default nextval('queue_places'),  -- kept when it is queued again
    cancel_wanted boolean not null default false,  -- a running exec that is to be killed
    cancel_untold boolean not null default false,  -- and no lease answer has said so yet
    work text                                    -- JSON; null once it has ended
) with (fillfactor = 70);
create index operations_listed on operations (created_at, id);
create index operations_of_sandbox on operations (sandbox_id, created_at, id);
-- What is open is little: which of it is pending, leased, or has run out is looked for in these. As above, taking and
-- renewing a lease touches no index.
create index operations_open on operations (sandbox_id) where ended_at is null;
create index operations_queued on operations (node_id, queue_place) where ended_at is null;
create index operations_untold on operations (node_id) where cancel_untold;
create index operations_ended on operations (ended_at) include (state, kind) where ended_at is not null;
create index operations_with_output on operations (ended_at) where output is not null;

-- In a node's inventory and unknown here; since when.
create table strangers (
    node_id uuid not null references nodes,
    sandbox_id uuid not null,
    since timestamptz not null,
    primary key (node_id, sandbox_id)
);

-- The newest wait for work of each node: only that one is given any. Losing it costs a worker one repeated question.
create sequence poll_numbers;
create unlogged table polls (
    node_id uuid primary key,
    poll bigint not null
) with (fillfactor = 50);

-- The first answers of requests that carried an Idempotency-Key; a null body is one that is being made.
create table answers (
    key text primary key,
    fingerprint text not null,
    answered_at timestamptz not null,
    body text
);
create index answers_by_age on answers (answered_at);

-- Events that are not published yet. Ids of one sandbox grow in the order in which its events happened, since each was
-- drawn under the sandbox's lock; between sandboxes they only nearly do.
create table outbox (
    id bigint generated always as identity primary key,
    event_id uuid not null,
    event_type text not null,
    tenant text not null,
    sandbox_id uuid,
    node_id uuid not null,
    happened_at timestamptz not null,
    attributes jsonb not null
);
-- The event log: numbered as it is published, by one publisher at a time.
create table events (
    sequence bigint primary key,
    event_id uuid not null,
    event_type text not null,
    tenant text not null,
    sandbox_id uuid,
    node_id uuid not null,
    happened_at timestamptz not null,
    attributes jsonb not null
);
create index events_of_tenant on events (tenant, sequence);
create table log_end (
    only_row boolean primary key default true check (only_row),
    sequence bigint not null                     -- the last number given
);
-- Above any number of a memory store that was here before: those begin at the time too.
insert into log_end (sequence) values ((extract(epoch from sandbox.now()) * 1000)::bigint);

-- Who watches over the nodes' silence, all controllers taken together.
create table watch (
    only_row boolean primary key default true check (only_row),
    last_sweep timestamptz not null,
    counting_from timestamptz not null,          -- no node is lost for a silence before this
    listening_from timestamptz not null          -- nor silent
);
insert into watch (last_sweep, counting_from, listening_from) values (sandbox.now(), sandbox.now(), sandbox.now());
