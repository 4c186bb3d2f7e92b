-- Deleting sandboxes and cancelling operations.

-- A node that has been silent for too long. A silence before the controllers' own return does not count.
create function is_lost(l ledgers, p_node_lost interval, p_at timestamptz) returns boolean language sql stable as $$
    select l.lost or p_at - greatest(l.last_seen, (select counting_from from watch)) > p_node_lost
$$;

create function want_cancelled(o operations) returns void language plpgsql as $$
begin
    if o.cancel_wanted then return; end if;
    update operations set cancel_wanted = true, cancel_untold = true where id = o.id;
    perform note('w' || o.node_id);
end
$$;

create function finish_teardown(s sandboxes, p_deletion operations, p_at timestamptz)
returns sandboxes language plpgsql as $$
begin
    s := move(s, 'stopped', p_at);
    s := end_open(s, 'cancelled', p_deletion.id, p_at);
    return end_operation(s, p_deletion, null, null, p_at);
end
$$;

-- Enqueues the teardown, unless one is under way; its operation is s.deletion afterwards.
create function tear_down(s sandboxes, p_node_lost interval, p_at timestamptz) returns sandboxes language plpgsql as $$
declare
    under_way constant boolean := is_open(s.deletion);
    -- Scheduled means that no worker has ever been given the create.
    never_begun constant boolean := s.state = 'scheduled';
    was constant text := s.state;
    unreachable boolean;
    l ledgers;
    o operations;
begin
    if s.state = 'stopping' and under_way then return s; end if;
    select * into strict l from ledgers where node_id = s.node_id;
    unreachable := is_lost(l, p_node_lost, p_at);

    s := move(s, 'stopping', p_at);
    if s.state <> was then perform tell(s, 'sandbox.stopping', p_at); end if;
    for o in select * from operations where sandbox_id = s.id and ended_at is null
             order by queue_place loop
        if under_way and o.id = s.deletion then continue; end if;
        if o.assignment_state = 'pending' then
            s := end_operation(s, o, 'cancelled', killed_output(o.kind), p_at);
        elsif o.kind = 'exec' then
            perform want_cancelled(o);
        end if;
    end loop;
    if not under_way then
        o := enqueue_teardown(s, p_at);
        s.deletion := o.id;
    end if;
    if unreachable or never_begun then
        s.abandoned := s.abandoned or (unreachable and not never_begun);
        select * into strict o from operations where id = s.deletion;
        s := finish_teardown(s, o, p_at);
    end if;
    return s;
end
$$;

create function destroy(p_sandbox uuid, p_node_lost interval, p_key text, p_fingerprint text)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    known answer;
    s sandboxes;
    o operations;
    finished boolean;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;
    select * into s from sandboxes where id = p_sandbox for no key update;
    if not found then return refuse(p_key, 'not_found', 'there is no sandbox ' || p_sandbox); end if;
    finished := s.state = 'stopped';
    if not finished then
        s := tear_down(s, p_node_lost, at);
        perform save(s);
    end if;
    select * into strict o from operations where id = s.deletion;
    return keep(p_key, json_build_object('operation', operation_json(o), 'finished', finished));
end
$$;

create function cancel(p_operation uuid, p_key text, p_fingerprint text) returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    known answer;
    s sandboxes;
    o operations;
begin
    known := recall(p_key, p_fingerprint, at);
    if known.code is not null then return known; end if;
    select b.* into s from operations a join sandboxes b on b.id = a.sandbox_id where a.id = p_operation
    for no key update of b;
    select * into o from operations where id = p_operation;
    if not found then return refuse(p_key, 'not_found', 'there is no operation ' || p_operation); end if;

    if o.state = 'pending' then
        -- Without its create a sandbox can't come to be. One whose teardown is cancelled stays stopping: there is no
        -- way back, and deleting it again, or its expiry, enqueues another.
        if o.kind = 'create' then
            s := fail_sandbox(s, 'cancelled', at);
        else
            s := end_operation(s, o, 'cancelled', killed_output(o.kind), at);
        end if;
        perform save(s);
    elsif o.state = 'running' then
        if o.kind <> 'exec' then
            return refuse(p_key, 'conflict', 'a ' || o.kind || ' that is running can''t be cancelled');
        end if;
        if not has_feature(o.node_id, 'cancel') then
            return refuse(p_key, 'conflict',
                          'the sandbox''s node can''t cancel a command: its worker is too old');
        end if;
        perform want_cancelled(o);
    end if;
    select * into strict o from operations where id = p_operation;
    return keep(p_key, operation_json(o));
end
$$;
