-- The few moves that all verbs are made of. A function that takes a sandbox wants its row locked, changes the value and
-- gives it back; whoever locked it writes it with save().

-- What a verb gives back. Codes are those of the domain's errors, and 'ok'.
create type answer as (code text, message text, body text, notes text);

create function is_live(p_state text) returns boolean language sql immutable as $$
    select p_state in ('scheduled', 'creating', 'running', 'stopping')
$$;

-- scheduled → creating → running → stopping → stopped, steps may be left out; failed from any of the first four;
-- failed → stopping.
create function may_move(p_from text, p_to text) returns boolean language sql immutable as $$
    select case p_from
        when 'scheduled' then p_to in ('creating', 'running', 'stopping', 'stopped', 'failed')
        when 'creating' then p_to in ('running', 'stopping', 'stopped', 'failed')
        when 'running' then p_to in ('stopping', 'stopped', 'failed')
        when 'stopping' then p_to in ('stopped', 'failed')
        when 'failed' then p_to = 'stopping'
        else false
    end
$$;

-- Whether a request fits into what a node has left, with the reserve kept free.
create function fits(p_asked bigint, p_left bigint, p_total bigint, p_reserve double precision)
returns boolean language sql immutable as $$
    select p_asked <= p_left and case when p_total > 0 then (p_left - p_asked)::double precision / p_total else 0 end
        >= p_reserve
$$;

create function has_feature(p_node uuid, p_feature text) returns boolean language sql stable as $$
    select about -> 'features' ? p_feature from nodes where id = p_node
$$;

-- A version 7 UUID: 48 bits of milliseconds, then random bits.
create function make_id(p_at timestamptz) returns uuid language sql volatile as $$
    select encode(set_bit(set_bit(
        overlay(uuid_send(gen_random_uuid())
                placing substring(int8send((extract(epoch from p_at) * 1000)::bigint) from 3) from 1 for 6),
        52, 1), 53, 1), 'hex')::uuid
$$;

-- The output of an exec that nobody will report on: as of a killed one.
create function killed_output(p_kind text) returns text language sql immutable as $$
    select case when p_kind = 'exec' then
        '{"exit_code":137,"stdout":"","stderr":"","truncated":false,"timed_out":false,"signal":null,'
        '"oom_killed":false,"stdout_bytes":0,"stderr_bytes":0,"duration_ms":0,"stdout_base64":null,'
        '"stderr_base64":null}'
    end
$$;

-- --- notes: what this transaction has changed that somebody waits for; the caller passes it on once it has committed.
-- w<node>: work or cancels; o<operation>: ended; c<node>:…: its ledger; g<sandbox>: not live any more; f: nodes changed.

create function note(p_note text) returns void language plpgsql as $$
begin
    perform set_config('sandbox.notes', coalesce(current_setting('sandbox.notes', true), '') || p_note || ' ', true);
end
$$;

-- Takes the notes.
create function notes() returns text language plpgsql as $$
declare
    taken constant text := coalesce(current_setting('sandbox.notes', true), '');
begin
    if taken <> '' then perform set_config('sandbox.notes', '', true); end if;
    return taken;
end
$$;

create function note_ledger(l ledgers) returns void language plpgsql as $$
begin
    perform note('c' || concat_ws(',', l.node_id, l.version, l.total_cpu, l.total_memory, l.total_disk, l.total_pids,
        l.held_cpu + l.beyond_cpu, l.held_memory + l.beyond_memory, l.held_disk + l.beyond_disk,
        l.held_pids + l.beyond_pids, l.max_sandboxes, l.live));
end
$$;

-- --- the domain's wire forms

create function sandbox_json(s sandboxes) returns json language sql stable as $$
    select json_build_object('id', s.id, 'spec', s.spec, 'state', s.state, 'node_id', s.node_id,
        'isolation', s.isolation, 'risk_score', s.risk_score, 'created_at', s.created_at, 'updated_at', s.updated_at,
        'expires_at', s.expires_at, 'failure', s.failure, 'tunnels', s.tunnels,
        'placement_reasons', s.placement_reasons, 'startup', s.startup)
$$;

create function operation_json(o operations, p_with_output boolean default true) returns json language sql stable as $$
    select json_build_object('id', o.id, 'sandbox_id', o.sandbox_id, 'kind', o.kind, 'state', o.state,
        'output', case when p_with_output then o.output::json end, 'error', o.error, 'created_at', o.created_at,
        'updated_at', o.updated_at, 'started_at', o.started_at, 'argv', o.argv, 'phase', o.phase)
$$;

create function assignment_json(o operations, p_work text) returns json language sql stable as $$
    select json_build_object('id', o.assignment_id, 'operation_id', o.id, 'sandbox_id', o.sandbox_id,
        'node_id', o.node_id, 'kind', p_work::json, 'state', o.assignment_state, 'attempt', o.attempt,
        'lease_until', o.lease_until, 'created_at', o.created_at)
$$;

create function node_json(n nodes, l ledgers) returns jsonb language sql stable as $$
    select n.about || jsonb_build_object(
        'warm_images', n.warm_images, 'pressure', l.pressure, 'draining', l.draining, 'last_seen', l.last_seen,
        'capacity', jsonb_build_object(
            'total', jsonb_build_object('cpu_millis', l.total_cpu, 'memory_mib', l.total_memory,
                                        'disk_mib', l.total_disk, 'pids', l.total_pids),
            'available', jsonb_build_object(
                'cpu_millis', greatest(l.total_cpu - l.held_cpu - l.beyond_cpu, 0),
                'memory_mib', greatest(l.total_memory - l.held_memory - l.beyond_memory, 0),
                'disk_mib', greatest(l.total_disk - l.held_disk - l.beyond_disk, 0),
                'pids', greatest(l.total_pids - l.held_pids - l.beyond_pids, 0)),
            'max_sandboxes', l.max_sandboxes, 'running_sandboxes', l.live))
$$;

-- --- events

create function tell(s sandboxes, p_type text, p_at timestamptz, p_attributes jsonb default '{}')
returns void language plpgsql as $$
begin
    insert into outbox (event_id, event_type, tenant, sandbox_id, node_id, happened_at, attributes)
    values (make_id(p_at), p_type, s.tenant, s.id, s.node_id, p_at,
            jsonb_build_object('state', s.state, 'isolation', s.isolation) || p_attributes);
end
$$;

create function tell_of_node(n nodes, p_type text, p_at timestamptz) returns void language plpgsql as $$
begin
    insert into outbox (event_id, event_type, tenant, sandbox_id, node_id, happened_at, attributes)
    values (make_id(p_at), p_type, '', null, n.id, p_at,
            jsonb_build_object('name', n.about -> 'name', 'region', n.about -> 'region', 'zone', n.about -> 'zone'));
end
$$;

-- --- sandboxes

create function save(s sandboxes) returns void language plpgsql as $$
begin
    update sandboxes set
        state = s.state, updated_at = s.updated_at, expires_at = s.expires_at, ended_at = s.ended_at,
        deletion = s.deletion, inventories_missed = s.inventories_missed, abandoned = s.abandoned, spec = s.spec,
        failure = s.failure, tunnels = s.tunnels, startup = s.startup, live_changed_by = s.live_changed_by
    where id = s.id;
end
$$;

-- Adds what the sandbox takes to its node's ledger (+1) or gives it back (-1).
create function hold(s sandboxes, p_sign integer) returns void language plpgsql as $$
declare
    l ledgers;
begin
    update ledgers set
        held_cpu = held_cpu + p_sign * s.cpu, held_memory = held_memory + p_sign * s.memory,
        held_disk = held_disk + p_sign * s.disk, held_pids = held_pids + p_sign * s.pids,
        live = live + p_sign, version = version + 1, changed_by = pg_current_xact_id()
    where node_id = s.node_id returning * into strict l;
    perform note_ledger(l);
    if s.labels is not null then
        perform note(case when p_sign < 0 then 'g' || s.id else 'f' end);
    end if;
end
$$;

-- Changes the state when the state machine allows it, and with it the ledger.
create function move(s sandboxes, p_to text, p_at timestamptz) returns sandboxes language plpgsql as $$
declare
    was_live constant boolean := is_live(s.state);
    lives constant boolean := is_live(p_to);
begin
    if not may_move(s.state, p_to) then return s; end if;
    s.state := p_to;
    s.updated_at := p_at;
    if p_to = 'running' then s.inventories_missed := 0; end if;
    if p_to = 'stopped' then
        s.tunnels := '[]';
        s.spec := jsonb_set(s.spec, '{exposures}', '[]');
    end if;
    if was_live <> lives then
        s.ended_at := case when was_live then p_at end;
        s.live_changed_by := pg_current_xact_id();
        perform hold(s, case when lives then 1 else -1 end);
    end if;
    return s;
end
$$;

-- --- operations

create function enqueue(s sandboxes, p_kind text, p_work text, p_argv jsonb, p_at timestamptz)
returns operations language plpgsql as $$
declare
    o operations;
begin
    insert into operations (id, sandbox_id, kind, state, created_at, updated_at, phase, argv, assignment_id, node_id,
                            assignment_state, work)
    values (make_id(p_at), s.id, p_kind, 'pending', p_at, p_at, 'queued', p_argv, make_id(p_at), s.node_id,
            'pending', p_work)
    returning * into o;
    perform note('w' || s.node_id);
    return o;
end
$$;

create function enqueue_teardown(s sandboxes, p_at timestamptz) returns operations language sql volatile as $$
    select enqueue(s, 'delete', '{"kind":"delete"}', null, p_at)
$$;

-- Ends an operation: succeeded when there is no error.
create function end_operation(s sandboxes, o operations, p_error text, p_output text, p_at timestamptz)
returns sandboxes language plpgsql as $$
begin
    update operations set
        state = case when p_error is null then 'succeeded' else 'failed' end,
        assignment_state = case when p_error is null then 'completed' else 'failed' end,
        error = p_error, output = p_output, phase = null, updated_at = p_at, ended_at = p_at, lease_until = null, work = null,
        cancel_wanted = false, cancel_untold = false
    where id = o.id;
    -- What fails because the sandbox is being deleted, or was cancelled, is no failure of the sandbox.
    if p_error <> 'cancelled' and s.state not in ('stopping', 'stopped') then
        s.failure := p_error;
        s.updated_at := p_at;
    end if;
    if p_error is null then
        perform tell(s, 'sandbox.operation_succeeded', p_at,
                     jsonb_build_object('operation_id', o.id, 'kind', o.kind));
    else
        perform tell(s, 'sandbox.operation_failed', p_at,
                     jsonb_build_object('operation_id', o.id, 'kind', o.kind, 'error', p_error));
    end if;
    perform note('o' || o.id);
    return s;
end
$$;

-- Ends what is open but for p_kept (null: nothing is kept).
create function end_open(s sandboxes, p_error text, p_kept uuid, p_at timestamptz)
returns sandboxes language plpgsql as $$
declare
    o operations;
begin
    for o in select * from operations where sandbox_id = s.id and ended_at is null
             order by queue_place loop
        if o.id is distinct from p_kept then
            s := end_operation(s, o, p_error, killed_output(o.kind), p_at);
        end if;
    end loop;
    return s;
end
$$;

-- The sandbox has failed and everything under way in it.
create function fail_sandbox(s sandboxes, p_reason text, p_at timestamptz) returns sandboxes language plpgsql as $$
begin
    s := move(s, 'failed', p_at);
    s := end_open(s, p_reason, null, p_at);
    s.failure := p_reason;
    return s;
end
$$;

-- Back to its node's queue, or ended when its sandbox is being deleted: then only the teardown is still wanted.
create function queue_again(s sandboxes, o operations, p_at timestamptz) returns sandboxes language plpgsql as $$
begin
    if o.kind <> 'delete' and s.state = 'stopping' then
        return end_operation(s, o, 'cancelled', killed_output(o.kind), p_at);
    end if;
    update operations set assignment_state = 'pending', lease_until = null, phase = 'queued', updated_at = p_at
    where id = o.id;
    perform note('w' || o.node_id);
    return s;
end
$$;

create function is_open(p_operation uuid) returns boolean language sql stable as $$
    select exists (select from operations where id = p_operation and ended_at is null)
$$;

-- --- answers

create function say(p_code text, p_message text, p_body text) returns answer language plpgsql as $$
begin
    return row(p_code, p_message, p_body, notes())::answer;
end
$$;

-- Claims the key for this request: null when the answer is ours to make, else what is known of it. Waits for another
-- request with the same key that is under way.
create function recall(p_key text, p_fingerprint text, p_at timestamptz) returns answer language plpgsql as $$
declare
    known answers;
begin
    if p_key is null then return null; end if;
    insert into answers as a (key, fingerprint, answered_at) values (p_key, p_fingerprint, p_at)
    on conflict (key) do update
        set fingerprint = excluded.fingerprint, body = null, answered_at = excluded.answered_at
        where a.answered_at <= p_at - interval '24 hours';
    if found then return null; end if;
    select * into strict known from answers where key = p_key;
    if known.fingerprint <> p_fingerprint then
        return say('conflict', 'this Idempotency-Key was used with another request: take a new key', null);
    end if;
    return say('ok', null, known.body);
end
$$;

-- Only answers of success are kept.
create function refuse(p_key text, p_code text, p_message text) returns answer language plpgsql as $$
begin
    if p_key is not null then delete from answers where key = p_key; end if;
    return say(p_code, p_message, null);
end
$$;

create function keep(p_key text, p_body json) returns answer language plpgsql as $$
begin
    if p_key is not null then update answers set body = p_body::text where key = p_key; end if;
    return say('ok', null, p_body::text);
end
$$;
