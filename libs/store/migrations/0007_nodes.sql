-- Nodes that register, report and drain.

-- What a lost older worker may still hold is deleted by assignments; one that has an inventory tells what it holds.
create function come_back(n nodes, p_at timestamptz) returns void language plpgsql as $$
declare
    s sandboxes;
    o operations;
begin
    for s in select * from sandboxes where node_id = n.id and abandoned order by id
             for no key update skip locked loop
        s.abandoned := false;
        if n.incarnation is null and not is_live(s.state) then
            o := enqueue_teardown(s, p_at);
            if s.state = 'failed' then s.deletion := o.id; end if;
        end if;
        perform save(s);
    end loop;
end
$$;

-- The ledger decides; a report only tells what else the node is used for, beside the sandboxes in the ledger now.
create function take_report(p_node uuid, p_capacity jsonb, p_pressure real, p_at timestamptz)
returns ledgers language plpgsql as $$
declare
    cpu constant bigint := p_capacity -> 'total' -> 'cpu_millis';
    memory constant bigint := p_capacity -> 'total' -> 'memory_mib';
    disk constant bigint := p_capacity -> 'total' -> 'disk_mib';
    pids constant bigint := p_capacity -> 'total' -> 'pids';
    free constant jsonb := p_capacity -> 'available';
    l ledgers;
begin
    update ledgers set
        total_cpu = cpu, total_memory = memory, total_disk = disk, total_pids = pids,
        beyond_cpu = greatest(cpu - least((free -> 'cpu_millis')::bigint, cpu) - held_cpu, 0),
        beyond_memory = greatest(memory - least((free -> 'memory_mib')::bigint, memory) - held_memory, 0),
        beyond_disk = greatest(disk - least((free -> 'disk_mib')::bigint, disk) - held_disk, 0),
        beyond_pids = greatest(pids - least((free -> 'pids')::bigint, pids) - held_pids, 0),
        max_sandboxes = (p_capacity -> 'max_sandboxes')::bigint, pressure = p_pressure, last_seen = p_at,
        stale = false, lost = false, version = version + 1, changed_by = pg_current_xact_id()
    where node_id = p_node returning * into strict l;
    perform note_ledger(l);
    return l;
end
$$;

-- p_about is the node in its wire form.
create function register_node(p_node uuid, p_about jsonb, p_incarnation uuid) returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    is_new boolean;
    restarted boolean;
    n nodes;
    l ledgers;
    s sandboxes;
    o operations;
begin
    insert into nodes (id, about, warm_images, incarnation)
    values (p_node, p_about, p_about -> 'warm_images', p_incarnation) on conflict (id) do nothing;
    is_new := found;
    if is_new then
        insert into ledgers (node_id, total_cpu, total_memory, total_disk, total_pids, max_sandboxes, pressure,
                             last_seen, draining)
        values (p_node, 0, 0, 0, 0, 0, 0, at, false);
    end if;
    select * into strict n from nodes where id = p_node for no key update;
    restarted := not is_new and (p_incarnation is null or p_incarnation is distinct from n.incarnation);
    update nodes set about = p_about, warm_images = p_about -> 'warm_images', incarnation = p_incarnation,
        registration = registration + restarted::integer, changed_by = pg_current_xact_id()
    where id = p_node returning * into strict n;

    perform from sandboxes b where b.node_id = p_node and b.abandoned or b.id in (
        select a.sandbox_id from operations a
        where a.node_id = p_node and a.ended_at is null and a.assignment_state = 'leased' and restarted)
    order by b.id for no key update;
    l := take_report(p_node, p_about -> 'capacity', (p_about -> 'pressure')::real, at);
    update ledgers set draining = drained or (p_about -> 'draining')::boolean, registration = n.registration
    where node_id = p_node returning * into strict l;
    if restarted then
        for o in select * from operations
                 where node_id = p_node and ended_at is null and assignment_state = 'leased'
                 order by queue_place loop
            select * into strict s from sandboxes where id = o.sandbox_id;
            if o.kind <> 'exec' then
                s := queue_again(s, o, at);
            else
                s := end_operation(s, o, case when o.cancel_wanted then 'cancelled' else 'interrupted' end,
                                   killed_output(o.kind), at);
            end if;
            perform save(s);
        end loop;
    end if;
    perform come_back(n, at);
    perform tell_of_node(n, 'node.registered', at);
    perform note('f');
    return say('ok', null, json_build_object('node', node_json(n, l), 'restarted', restarted)::text);
end
$$;

create function drain(p_node uuid, p_draining boolean, p_key text, p_fingerprint text)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    known answer;
    was boolean;
    n nodes;
    l ledgers;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;
    select * into n from nodes where id = p_node for no key update;
    if not found then return refuse(p_key, 'not_found', 'no node ' || p_node || ' is registered'); end if;
    select draining into strict was from ledgers where node_id = p_node for no key update;
    update ledgers set drained = p_draining, draining = p_draining, version = version + 1,
        changed_by = pg_current_xact_id()
    where node_id = p_node returning * into strict l;
    if p_draining and not was then perform tell_of_node(n, 'node.draining', at); end if;
    perform note('f');
    return keep(p_key, node_json(n, l)::json);
end
$$;

-- --- heartbeats

create function in_flight(p_report jsonb) returns table (assignment_id uuid, attempt bigint, phase text)
language sql immutable as $$
    select * from jsonb_to_recordset(case jsonb_typeof(p_report -> 'in_flight') when 'array'
                                     then p_report -> 'in_flight' else '[]' end)
        as f(assignment_id uuid, attempt bigint, phase text)
$$;

create function inventory(p_report jsonb)
returns table (place bigint, sandbox_id uuid, running boolean, exit_code bigint, oom_killed boolean, startup jsonb)
language sql immutable as $$
    select i.place, (i.item ->> 'sandbox_id')::uuid, i.item ->> 'state' = 'running', (i.item ->> 'exit_code')::bigint,
           (i.item ->> 'oom_killed')::boolean, nullif(i.item -> 'startup', 'null')
    from jsonb_array_elements(case jsonb_typeof(p_report -> 'inventory') when 'array'
                              then p_report -> 'inventory' else '[]' end) with ordinality as i(item, place)
$$;

-- Commands that were given to a worker and never reached it: a controller ended, or a connection, between the two. A
-- worker that lists all it has in hand does not list them, though they were given, and their lease ran out, longer ago
-- than any answer or heartbeat is under way. (It also runs no command a second time that it remembers.) Older workers
-- may not list everything: theirs stay.
create function undelivered(n nodes, p_report jsonb, p_at timestamptz) returns setof operations
language sql stable as $$
    select o.* from operations o
    where n.about -> 'features' ? 'in_flight' and jsonb_typeof(p_report -> 'in_flight') = 'array'
        and o.node_id = n.id and o.ended_at is null and o.assignment_state = 'leased' and o.kind = 'exec'
        and o.lease_until <= p_at - interval '15 seconds' and o.started_at <= p_at - interval '60 seconds'
        and o.assignment_id not in (select f.assignment_id from in_flight(p_report) f)
    order by o.queue_place
$$;

-- Locks what the report will change, all of it before the ledger.
create function lock_reported(n nodes, p_report jsonb, p_has_inventory boolean, p_at timestamptz)
returns void language plpgsql as $$
begin
    perform from sandboxes b where b.id in (
        select a.sandbox_id from in_flight(p_report) f join operations a on a.assignment_id = f.assignment_id
        where a.node_id = n.id and a.ended_at is null
        union all
        select a.sandbox_id from operations a
        where jsonb_typeof(p_report -> 'in_flight') is distinct from 'array'
            and a.node_id = n.id and a.ended_at is null and a.assignment_state = 'leased'
        union all
        select t.id from inventory(p_report) i join sandboxes t on t.id = i.sandbox_id
        where t.node_id = n.id and t.ended_at is null and t.state = 'running'
            and (not i.running or t.inventories_missed > 0 or i.startup is distinct from t.startup)
        union all
        select t.id from sandboxes t
        where p_has_inventory and t.node_id = n.id and t.ended_at is null and t.state = 'running'
            and t.id not in (select i.sandbox_id from inventory(p_report) i)
        union all
        select t.id from sandboxes t where t.node_id = n.id and t.abandoned
        union all
        select o.sandbox_id from undelivered(n, p_report, p_at) o)
    order by b.id for no key update;
end
$$;

-- An older worker names nothing in flight: its heartbeat renews all that it has.
create function renew(n nodes, p_report jsonb, p_until timestamptz, p_at timestamptz)
returns void language plpgsql as $$
begin
    if jsonb_typeof(p_report -> 'in_flight') = 'array' then
        -- Queued again, but the worker that had it last is still at it: it keeps it.
        update operations o set assignment_state = 'leased', lease_until = p_until,
            phase = coalesce(nullif(f.phase, ''), o.phase),
            updated_at = case when nullif(f.phase, '') is distinct from o.phase and f.phase <> '' then p_at
                         else o.updated_at end
        from in_flight(p_report) f
        where o.assignment_id = f.assignment_id and o.node_id = n.id and o.attempt = f.attempt and f.attempt > 0
            and o.ended_at is null;
    else
        update operations o set lease_until = p_until
        from sandboxes s
        where o.node_id = n.id and o.ended_at is null and o.assignment_state = 'leased' and s.id = o.sandbox_id
            and (s.expires_at > p_at or o.kind = 'delete');
    end if;
end
$$;

create function give_back_undelivered(n nodes, p_report jsonb, p_at timestamptz) returns void language plpgsql as $$
declare
    s sandboxes;
    o operations;
begin
    for o in select * from undelivered(n, p_report, p_at) loop
        select * into s from sandboxes where id = o.sandbox_id for no key update skip locked;
        if found then perform save(give_back(s, o, p_at)); end if;
    end loop;
end
$$;

create function lose_sandbox(s sandboxes, p_reason text, p_at timestamptz) returns sandboxes language plpgsql as $$
begin
    s := fail_sandbox(s, p_reason, p_at);
    perform tell(s, 'sandbox.lost', p_at, jsonb_build_object('reason', p_reason));
    return s;
end
$$;

create function settle_held(n nodes, p_report jsonb, p_at timestamptz) returns void language plpgsql as $$
declare
    i record;
    s sandboxes;
begin
    for i in select held.* from inventory(p_report) held join sandboxes t on t.id = held.sandbox_id
             where t.node_id = n.id and t.ended_at is null and t.state = 'running'
                 and (not held.running or t.inventories_missed > 0 
                      or held.startup is not null and held.startup is distinct from t.startup)
             order by held.place loop
        select * into s from sandboxes where id = i.sandbox_id and state = 'running' for no key update skip locked;
        if not found then continue; end if;  -- named twice
        s.inventories_missed := 0;
        if i.startup is not null and i.startup is distinct from s.startup then
            s.startup := i.startup;
            s.updated_at := p_at;
        end if;
        if not i.running then
            s := lose_sandbox(s, case
                when i.oom_killed then 'sandbox ended: out of memory'
                when i.exit_code = 137 then 'sandbox lost: killed or removed from outside'
                when i.exit_code is not null then 'sandbox ended by itself with status ' || i.exit_code
                else 'sandbox ended by itself' end, p_at);
        end if;
        perform save(s);
    end loop;
end
$$;

-- A running sandbox that the node does not hold is lost. One inventory may be older than a create that has just ended,
-- so it takes two.
create function settle_missing(n nodes, p_report jsonb, p_at timestamptz) returns void language plpgsql as $$
declare
    s sandboxes;
begin
    for s in select * from sandboxes where node_id = n.id and ended_at is null and state = 'running'
                 and id not in (select i.sandbox_id from inventory(p_report) i) order by id
             for no key update skip locked loop
        s.inventories_missed := s.inventories_missed + 1;
        if s.inventories_missed >= 2 then
            s := lose_sandbox(s, 'sandbox lost: its node no longer has it', p_at);
        end if;
        perform save(s);
    end loop;
end
$$;

-- Whether a report only says how full the node is, as most do: nothing is open there, and it holds what is to run there.
create function is_quiet(n nodes, p_report jsonb, p_has_inventory boolean) returns boolean language plpgsql as $$
begin
    return n.warm_images = p_report -> 'warm_images'
        and not exists (select from operations o where o.node_id = n.id and o.ended_at is null)
        and not exists (select from sandboxes s where s.node_id = n.id and s.abandoned)
        and (not p_has_inventory or not exists (select from strangers x where x.node_id = n.id) and not exists (
            select from inventory(p_report) i
                full join (select * from sandboxes l where l.node_id = n.id and l.ended_at is null) s
                on s.id = i.sandbox_id
            where (s.state = 'running' and s.inventories_missed = 0 and i.running
                   and (i.startup is null or i.startup = s.startup)) is not true));
end
$$;

-- `remove` is what the controller does not want kept, `cancel` the execs to kill; `strangers` how many sandboxes that
-- are not known here were seen for the first time, `orphans` those of them whose time is up. All separated by blanks.
create function heartbeat(p_node uuid, p_report jsonb, p_lease interval, p_orphan_grace interval,
                          out known boolean, out remove text, out cancel text, out strangers bigint, out orphans text,
                          out notes text)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    has_inventory constant boolean := jsonb_typeof(p_report -> 'inventory') is not distinct from 'array';
    n nodes;
begin
    select * into n from nodes where id = p_node for no key update;
    known := found;
    if not known then return; end if;
    strangers := 0;
    if is_quiet(n, p_report, has_inventory) then
        -- The next report will say the same again: nobody has to wait until this one is on disk.
        perform set_config('synchronous_commit', 'off', true);
        perform take_report(p_node, p_report -> 'capacity', (p_report -> 'pressure')::real, at);
        notes := notes();
        return;
    end if;
    perform lock_reported(n, p_report, has_inventory, at);
    perform take_report(p_node, p_report -> 'capacity', (p_report -> 'pressure')::real, at);
    if n.warm_images <> p_report -> 'warm_images' then
        update nodes set warm_images = p_report -> 'warm_images', changed_by = pg_current_xact_id() where id = p_node;
    end if;
    perform come_back(n, at);
    perform renew(n, p_report, at + p_lease, at);
    perform give_back_undelivered(n, p_report, at);

    if has_inventory then
        insert into strangers as x (node_id, sandbox_id, since)
        select distinct p_node, i.sandbox_id, at from inventory(p_report) i
        where not exists (select from sandboxes s where s.id = i.sandbox_id) on conflict do nothing;
        get diagnostics strangers = row_count;
        delete from strangers x where x.node_id = p_node
            and x.sandbox_id not in (select i.sandbox_id from inventory(p_report) i);
        perform settle_held(n, p_report, at);
        perform settle_missing(n, p_report, at);
        select string_agg(i.sandbox_id::text, ' ' order by i.place),
               string_agg(i.sandbox_id::text, ' ' order by i.place) filter (where s.id is null)
        into remove, orphans
        from inventory(p_report) i
            left join sandboxes s on s.id = i.sandbox_id
            left join strangers x on x.node_id = p_node and x.sandbox_id = i.sandbox_id
        where case when s.id is null then x.since <= at - p_orphan_grace
              else not is_live(s.state) and not is_open(s.deletion) end;
    end if;
    select string_agg(o.id::text, ' ' order by o.queue_place) into cancel
    from operations o
    where o.node_id = p_node and o.ended_at is null and o.assignment_state = 'leased' and o.cancel_wanted;
    notes := notes();
end
$$;
