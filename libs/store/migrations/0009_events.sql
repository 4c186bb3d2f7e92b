-- The outbox and the log that it becomes.

-- Moves these events from the outbox to the log under the numbers that begin with p_first. False when somebody else has
-- given p_first away: then nothing is changed.
create function publish(p_ids bigint[], p_first bigint) returns boolean language plpgsql as $$
begin
    update log_end set sequence = p_first + cardinality(p_ids) - 1 where sequence = p_first - 1;
    if not found then return false; end if;
    with gone as (
        delete from outbox where id = any (p_ids) returning *)
    insert into events (sequence, event_id, event_type, tenant, sandbox_id, node_id, happened_at, attributes)
    select p_first + i.place - 1, g.event_id, g.event_type, g.tenant, g.sandbox_id, g.node_id, g.happened_at,
           g.attributes
    from unnest(p_ids) with ordinality as i(id, place) join gone g on g.id = i.id;
    return true;
end
$$;

-- Whether this session is the one publisher, from now on until it ends.
create function may_publish() returns boolean language plpgsql as $$
begin
    return pg_try_advisory_lock(hashtext('sandbox publisher'), 0);
end
$$;

-- What is worth waking somebody for: nodes with work, and those of p_operations that have ended. Whoever missed the news
-- hears of it here.
create function news(p_operations uuid[], out notes text, out log_end bigint, out has_outbox boolean)
language sql stable as $$
    select
        coalesce((select string_agg('w' || p.node_id, ' ') from (
            select a.node_id from operations a where a.ended_at is null and a.assignment_state = 'pending'
            union
            select b.node_id from operations b where b.cancel_untold) p) || ' ', '')
        || coalesce((select string_agg('o' || o.id, ' ') from operations o
                     where o.id = any (p_operations) and o.ended_at is not null), ''),
        (select e.sequence from log_end e),
        exists (select from outbox)
$$;

-- --- what controllers keep in memory of the fleet

create function ledger_numbers(l ledgers) returns json language sql stable as $$
    select json_build_object('id', l.node_id, 'registration', l.registration, 'version', l.version,
        'draining', l.draining, 'pressure', l.pressure, 'stale', l.stale,
        'total', json_build_array(l.total_cpu, l.total_memory, l.total_disk, l.total_pids),
        'used', json_build_array(l.held_cpu + l.beyond_cpu, l.held_memory + l.beyond_memory,
                                 l.held_disk + l.beyond_disk, l.held_pids + l.beyond_pids),
        'max_sandboxes', l.max_sandboxes, 'live', l.live)
$$;

-- What transactions changed that had not ended at the snapshot whose oldest was p_since; null: everything. One statement
-- sees one snapshot, so going on from `since` misses nothing. Planned each time: how much has changed decides how to look.
create function fleet(p_since xid8) returns json language plpgsql stable set plan_cache_mode = force_custom_plan as $$
begin
    return (select json_build_object(
        'since', pg_snapshot_xmin(pg_current_snapshot())::text,
        'now', sandbox.now(),
        'ledgers', (select json_agg(ledger_numbers(l)) from ledgers l where p_since is null or l.changed_by >= p_since),
        'nodes', (select json_agg(node_json(n, l)) from nodes n join ledgers l on l.node_id = n.id
                  where p_since is null or n.changed_by >= p_since),
        'sandboxes', (select json_agg(json_build_object('id', s.id, 'node_id', s.node_id, 'tenant', s.tenant,
                                                        'labels', s.labels, 'live', is_live(s.state)))
                      from (select * from sandboxes a where a.labels is not null and a.live_changed_by >= p_since
                            union all
                            select * from sandboxes b where p_since is null and b.labels is not null
                                and b.ended_at is null) s)));
end
$$;
