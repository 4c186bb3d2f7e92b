-- Giving work to workers, and taking it back.

-- An older worker runs what it is given side by side, so it is given one assignment per sandbox at a time.
create function is_behind(o operations) returns boolean language sql stable as $$
    select exists (
        select from operations b
        where b.sandbox_id = o.sandbox_id and b.node_id = o.node_id and b.ended_at is null
            and (b.assignment_state = 'leased'
                 or b.assignment_state = 'pending' and b.queue_place < o.queue_place))
$$;

-- Takes up to p_limit of the node's pending assignments under lease. p_poll is null for a new wait for work, which is
-- given a number: only the newest wait of a node, by the process that is registered now, gets any. What somebody else
-- has locked is passed over, and `blocked` says that it is worth asking again in a moment.
create function lease(p_node uuid, p_poll bigint, p_registration bigint, p_limit integer, p_lease interval,
                      p_max_bytes bigint,
                      out poll bigint, out registration bigint, out is_current boolean, out blocked boolean,
                      out assignments text, out cancel text)
language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    older boolean;
    wanted uuid[];
begin
    select n.registration, n.incarnation is null into registration, older from nodes n where n.id = p_node;
    if not found then return; end if;  -- registration is null: an unknown node
    is_current := registration = coalesce(p_registration, registration);
    if not is_current then return; end if;
    if p_poll is null then
        poll := nextval('poll_numbers');
        insert into polls as p (node_id, poll) values (p_node, lease.poll)
        on conflict (node_id) do update set poll = excluded.poll where p.poll < excluded.poll;
    else
        poll := p_poll;
        is_current := not exists (select from polls p where p.node_id = p_node and p.poll > p_poll);
        if not is_current then return; end if;
    end if;

    -- Deletes first: they wait for no number of other sandboxes' commands.
    select array_agg(c.id) into wanted from (
        select o.id,
            sum(octet_length(o.work)) over (order by o.kind <> 'delete', o.queue_place) - octet_length(o.work) as before
        from operations o
        where o.node_id = p_node and o.ended_at is null and o.assignment_state = 'pending'
            and not (older and is_behind(o))
        order by o.kind <> 'delete', o.queue_place limit p_limit) c
    where c.before < p_max_bytes;
    blocked := false;
    -- A process that registers meanwhile must find what this one is given, or have it refused here. (Before any
    -- operation, as all lock them.)
    if wanted is not null then
        perform from nodes n where n.id = p_node and n.registration = lease.registration for share;
        if not found then
            is_current := false;
            return;
        end if;
    end if;

    with told as (
        update operations o set cancel_untold = false where o.id in (
            select u.id from operations u where u.node_id = p_node and u.cancel_untold for update skip locked)
        returning o.id, o.queue_place)
    select string_agg(t.id::text, ' ' order by t.queue_place) into cancel from told t;
    if wanted is null then return; end if;

    with claimed as materialized (
        select o.id, o.kind, o.sandbox_id from operations o join sandboxes s on s.id = o.sandbox_id
        where o.id = any (wanted) and o.assignment_state = 'pending' and not (older and is_behind(o))
        for no key update of o, s skip locked),
    begun as (
        update sandboxes s set state = 'creating', updated_at = at
        from claimed c where c.kind = 'create' and s.id = c.sandbox_id and s.state = 'scheduled'),
    leased as (
        update operations o set
            assignment_state = 'leased', attempt = o.attempt + 1, lease_until = at + p_lease, state = 'running',
            started_at = coalesce(o.started_at, at), updated_at = at,
            phase = case o.kind when 'create' then 'creating' else 'running' end
        from claimed c where o.id = c.id
        returning o as given)
    select json_agg(assignment_json(l.given, (l.given).work) order by (l.given).queue_place)::text,
           count(*) < cardinality(wanted)
    into assignments, blocked from leased l;
end
$$;

-- The operation is as if it had never been given; one that is to be cancelled ends.
create function give_back(s sandboxes, o operations, p_at timestamptz) returns sandboxes language plpgsql as $$
begin
    if o.cancel_wanted then
        return end_operation(s, o, 'cancelled', killed_output(o.kind), p_at);
    end if;
    s := queue_again(s, o, p_at);
    update operations set state = 'pending', started_at = null where id = o.id and assignment_state = 'pending';
    return s;
end
$$;

-- Hands back leases that were not begun. Unknown ids are ignored.
create function release(p_assignments uuid[]) returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    s sandboxes;
    o operations;
begin
    perform from sandboxes b where b.id in (
        select a.sandbox_id from operations a where a.assignment_id = any (p_assignments))
    order by b.id for no key update;
    for o in select * from operations where assignment_id = any (p_assignments) and assignment_state = 'leased'
             order by queue_place loop
        select * into strict s from sandboxes where id = o.sandbox_id;
        perform save(give_back(s, o, at));
    end loop;
    return say('ok', null, null);
end
$$;
