-- What time brings. Several controllers may sweep: whoever comes while another is at a step leaves that step to it, and
-- what is locked is left for the next sweep.

create function is_mine(p_step text) returns boolean language sql volatile as $$
    select pg_try_advisory_xact_lock(hashtext('sandbox sweep'), hashtext(p_step))
$$;

-- Notes that somebody watches, and tells of nodes that have fallen silent. When nobody has watched for half of a time
-- that nodes have, the controllers or their database were away, and the nodes get that time again.
create function sweep_nodes(p_heartbeat_timeout interval, p_node_lost interval, out lost text, out notes text)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    heard timestamptz;
    n nodes;
begin
    if not is_mine('nodes') then return; end if;
    update watch set last_sweep = at,
        counting_from = case when at - last_sweep > p_node_lost / 2 then at else counting_from end,
        listening_from = case when at - last_sweep > p_heartbeat_timeout / 2 then at else listening_from end
    returning listening_from into heard;
    for n in
        with silent as (
            update ledgers set stale = true, version = version + 1, changed_by = pg_current_xact_id()
            where node_id in (select l.node_id from ledgers l
                              where not l.stale and at - greatest(l.last_seen, heard) > p_heartbeat_timeout
                              for update skip locked)
            returning node_id)
        select m.* from nodes m join silent on m.id = silent.node_id order by m.id loop
        perform tell_of_node(n, 'node.stale', at);
    end loop;
    select string_agg(l.node_id::text, ' ') into lost from ledgers l
    where not l.lost and l.last_seen < at - p_node_lost and is_lost(l, p_node_lost, at);
    notes := notes();
end
$$;

-- The node is lost: its sandboxes have failed. `name` is null when it has come back or somebody else was faster.
create function lose_node(p_node uuid, p_node_lost interval,
                          out name text, out last_seen timestamptz, out sandboxes bigint, out notes text)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    n nodes;
    l ledgers;
    s sandboxes;
    o operations;
begin
    select * into strict n from nodes where id = p_node for no key update;
    select * into strict l from ledgers where node_id = p_node;
    if l.lost or not is_lost(l, p_node_lost, at) then return; end if;
    name := n.about ->> 'name';
    last_seen := l.last_seen;
    perform from sandboxes b where b.node_id = p_node and b.ended_at is null or b.id in (
        select a.sandbox_id from operations a where a.node_id = p_node and a.ended_at is null)
    order by b.id for no key update;
    update ledgers set lost = true, version = version + 1, changed_by = pg_current_xact_id() where node_id = p_node;
    sandboxes := 0;
    for s in select * from sandboxes b where b.node_id = p_node and b.ended_at is null order by b.id
             for no key update skip locked loop
        s.abandoned := true;
        if s.state = 'stopping' and is_open(s.deletion) then
            select * into strict o from operations where id = s.deletion;
            s := finish_teardown(s, o, at);
        else
            s := lose_sandbox(s, 'node lost', at);
            sandboxes := sandboxes + 1;
        end if;
        perform save(s);
    end loop;
    -- What is left is no live sandbox's: teardowns of ended ones.
    for o in select * from operations a where a.node_id = p_node and a.ended_at is null
             order by a.queue_place loop
        select * into strict s from sandboxes b where b.id = o.sandbox_id;
        s := end_operation(s, o, 'node lost', null, at);
        perform save(s);
    end loop;
    notes := notes();
end
$$;

create function sweep_expired(p_limit integer, p_node_lost interval, out expired integer, out notes text)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    s sandboxes;
begin
    expired := 0;
    if not is_mine('expired') then return; end if;
    for s in select * from sandboxes b
             where b.ended_at is null and b.expires_at <= at
                 and not (b.state = 'stopping' and is_open(b.deletion))
             order by b.expires_at limit p_limit for no key update skip locked loop
        perform tell(s, 'sandbox.expired', at);
        s := tear_down(s, p_node_lost, at);
        perform save(s);
        expired := expired + 1;
    end loop;
    notes := notes();
end
$$;

-- Creates and deletes whose lease ran out are queued again. An exec stays with its worker: a command is never run twice
-- by itself.
create function sweep_leases(p_limit integer, out released integer, out notes text) language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    s sandboxes;
    o operations;
begin
    released := 0;
    if not is_mine('leases') then return; end if;
    for s in select b.* from sandboxes b where b.id in (
                 select a.sandbox_id from operations a
                 where a.ended_at is null and a.assignment_state = 'leased' and a.kind <> 'exec'
                     and a.lease_until <= at
                 order by a.lease_until limit p_limit)
             for no key update skip locked loop
        for o in select * from operations a
                 where a.sandbox_id = s.id and a.ended_at is null and a.assignment_state = 'leased'
                     and a.kind <> 'exec'
                     and a.lease_until <= at loop
            s := queue_again(s, o, at);
            released := released + 1;
        end loop;
        perform save(s);
    end loop;
    notes := notes();
end
$$;

-- Deletes what is old, in small batches; intervals are null where all is kept. `pruned` counts records, `more` says
-- that a batch was full.
create function prune(p_limit integer, p_retention interval, p_output_retention interval,
                      out pruned bigint, out more boolean)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    gone bigint;
begin
    pruned := 0;
    more := false;
    if not is_mine('prune') then return; end if;

    -- As arrays: a plan that is made once takes any limit for a tenth of the table, and would read it whole.
    delete from sandboxes where id = any (array(
        select b.id from sandboxes b where b.ended_at < at - p_retention
        order by b.ended_at limit p_limit for update skip locked));
    get diagnostics gone = row_count;
    pruned := pruned + gone;
    more := more or gone = p_limit;

    -- A teardown is kept as long as its sandbox, so that deleting again can name it.
    delete from operations where id = any (array(
        select a.id from operations a
        where a.ended_at < at - p_retention and a.kind <> 'delete'
        order by a.ended_at limit p_limit for update skip locked));
    get diagnostics gone = row_count;
    pruned := pruned + gone;
    more := more or gone = p_limit;

    update operations set output = null where id = any (array(
        select a.id from operations a where a.output is not null and a.ended_at < at - p_output_retention
        order by a.ended_at limit p_limit for update skip locked));
    get diagnostics gone = row_count;
    more := more or gone = p_limit;

    delete from events where happened_at < at - p_retention and sequence = any (array(
        select e.sequence from events e order by e.sequence limit p_limit));
    get diagnostics gone = row_count;
    more := more or gone = p_limit;

    delete from answers where key = any (array(
        select a.key from answers a where a.answered_at <= at - interval '24 hours'
        order by a.answered_at limit p_limit for update skip locked));
    get diagnostics gone = row_count;
    more := more or gone = p_limit;
end
$$;
