-- Placing a sandbox, and what is asked of one that runs.

-- Reserves the capacity of the node that was chosen, and writes the sandbox, its create and its event. Refuses with
-- 'taken' when the node is not any more what the choice was made by: the notes tell its ledger.
create function place(
    p_node uuid, p_registration bigint, p_spec jsonb, p_isolation text, p_risk integer, p_reasons jsonb,
    p_max_pressure real, p_reserve double precision, p_key text, p_fingerprint text)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    asked constant jsonb := p_spec -> 'resources';
    cpu constant bigint := asked ->> 'cpu_millis';
    memory constant bigint := asked ->> 'memory_mib';
    disk constant bigint := asked ->> 'disk_mib';
    pids constant bigint := asked ->> 'pids';
    known answer;
    l ledgers;
    s sandboxes;
    o operations;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;

    update ledgers u set
        held_cpu = u.held_cpu + cpu, held_memory = u.held_memory + memory, held_disk = u.held_disk + disk,
        held_pids = u.held_pids + pids, live = u.live + 1, version = u.version + 1, changed_by = pg_current_xact_id()
    where u.node_id = p_node and u.registration = p_registration and not u.draining and not u.stale
        and u.pressure <= p_max_pressure and u.pressure < 1
        and (u.max_sandboxes = 0 or u.live < u.max_sandboxes)
        and fits(cpu, u.total_cpu - u.held_cpu - u.beyond_cpu, u.total_cpu, p_reserve)
        and fits(memory, u.total_memory - u.held_memory - u.beyond_memory, u.total_memory, p_reserve)
        and fits(disk, u.total_disk - u.held_disk - u.beyond_disk, u.total_disk, p_reserve)
        and fits(pids, u.total_pids - u.held_pids - u.beyond_pids, u.total_pids, p_reserve)
    returning * into l;
    if not found then
        select * into l from ledgers where node_id = p_node;
        if found then perform note_ledger(l); end if;
        return refuse(p_key, 'taken', null);
    end if;
    perform note_ledger(l);

    insert into sandboxes (id, tenant, node_id, state, isolation, risk_score, cpu, memory, disk, pids, created_at,
                           updated_at, expires_at, labels, spec, placement_reasons)
    values (make_id(at), p_spec ->> 'tenant', p_node, 'scheduled', p_isolation, p_risk, cpu, memory, disk, pids, at, at,
            at + make_interval(secs => (p_spec ->> 'ttl_seconds')::double precision),
            nullif(p_spec -> 'labels', '{}'), p_spec, p_reasons)
    returning * into s;
    o := enqueue(s, 'create', jsonb_build_object('kind', 'create', 'spec', p_spec, 'isolation', p_isolation,
                                                 'tunnels', s.tunnels)::text, null, at);
    perform tell(s, 'sandbox.scheduled', at);
    return keep(p_key, json_build_object('sandbox', sandbox_json(s), 'operation', operation_json(o)));
end
$$;

-- Several at once: a node's ledger is locked until the transaction is on disk, which takes far longer than to change it.
-- p_lock_timeout is in milliseconds: who asks does not wait for longer.
create function place_all(p_requests jsonb, p_max_pressure real, p_reserve double precision, p_lock_timeout integer)
returns setof answer language plpgsql as $$
declare
    r jsonb;
begin
    perform set_config('lock_timeout', p_lock_timeout::text, true);
    -- The keys before any ledger: another batch may hold a key that this one comes to, and want its ledger.
    perform pg_advisory_xact_lock(hashtext('sandbox place'), k.hash) from (
        select distinct hashtext(value ->> 'key') as hash from jsonb_array_elements(p_requests)
        where value ->> 'key' is not null order by 1) k;
    for r in select value from jsonb_array_elements(p_requests) loop
        return next place((r ->> 'node')::uuid, (r -> 'registration')::bigint, r -> 'spec', r ->> 'isolation',
                          (r -> 'risk')::integer, r -> 'reasons', p_max_pressure, p_reserve,
                          r ->> 'key', r ->> 'fingerprint');
    end loop;
end
$$;

-- An answer that is there already, without claiming the key: for a request that finds no room now.
create function recall_only(p_key text, p_fingerprint text) returns answer language plpgsql as $$
declare
    known answers;
begin
    select * into known from answers
    where key = p_key and answered_at > sandbox.now() - interval '24 hours' and body is not null;
    if not found then return null; end if;
    return recall(p_key, p_fingerprint, sandbox.now());
end
$$;

create function extend(p_sandbox uuid, p_ttl_seconds bigint, p_max_ttl_seconds bigint, p_key text, p_fingerprint text)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    known answer;
    s sandboxes;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;
    select * into s from sandboxes where id = p_sandbox for no key update;
    if not found then return refuse(p_key, 'not_found', 'there is no sandbox ' || p_sandbox); end if;
    if p_ttl_seconds > p_max_ttl_seconds then
        return refuse(p_key, 'invalid_argument', 'ttl_seconds is more than policy.max_ttl_seconds allows ('
                                                 || p_max_ttl_seconds || ')');
    end if;
    if s.state not in ('scheduled', 'creating', 'running') then
        return refuse(p_key, 'conflict', 'the sandbox is ' || s.state || ' and can''t be extended');
    end if;
    if at + make_interval(secs => p_ttl_seconds) > s.expires_at then
        s.expires_at := at + make_interval(secs => p_ttl_seconds);
        s.updated_at := at;
        perform save(s);
    end if;
    return keep(p_key, sandbox_json(s));
end
$$;

create function exec(p_sandbox uuid, p_work text, p_argv jsonb, p_wants_stdin boolean, p_key text, p_fingerprint text)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    known answer;
    s sandboxes;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;
    select * into s from sandboxes where id = p_sandbox for no key update;
    if not found then return refuse(p_key, 'not_found', 'there is no sandbox ' || p_sandbox); end if;
    if s.state <> 'running' then
        return refuse(p_key, 'conflict', 'the sandbox is ' || s.state || ', not running');
    end if;
    if p_wants_stdin and not has_feature(s.node_id, 'stdin') then
        return refuse(p_key, 'conflict',
                      'the sandbox''s node can''t give a command standard input: its worker is too old');
    end if;
    return keep(p_key, operation_json(enqueue(s, 'exec', p_work, p_argv, at)));
end
$$;
