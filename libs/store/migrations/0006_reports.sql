-- What workers tell of assignments.

-- The output of an exec whose worker left it out: an exec that has ended has an exit code all the same. 125 is what
-- `docker run` answers when it is the engine that has failed, not the command.
create function output_of(p_success boolean) returns text language sql immutable as $$
    select jsonb_set(killed_output('exec')::jsonb, '{exit_code}', case when p_success then '0' else '125' end::jsonb)::text
$$;

-- Takes a report: the first of an assignment counts, a repeated one or one of an older attempt changes nothing.
-- The errors are null for success: p_error by the rule of all kinds, p_exec_error by that of commands, where another
-- status than 0 is a failure too; p_killed says that the command was killed or left no output.
create function complete(
    p_assignment uuid, p_operation uuid, p_sandbox uuid, p_attempt bigint, p_error text, p_exec_error text,
    p_output text, p_killed boolean, p_sandbox_ended boolean, p_startup jsonb)
returns answer language plpgsql as $$
declare
    at constant timestamptz := sandbox.now();
    s sandboxes;
    o operations;
    was text;
begin
    select b.* into s from operations a join sandboxes b on b.id = a.sandbox_id
    where a.assignment_id = p_assignment for no key update of b;
    select * into o from operations where assignment_id = p_assignment;
    if not found then return refuse(null, 'not_found', 'there is no assignment ' || p_assignment); end if;
    if o.id <> p_operation or o.sandbox_id <> p_sandbox then
        return refuse(null, 'conflict', 'assignment ' || p_assignment ||
                      ' belongs to another operation or another sandbox than the report says');
    end if;
    if o.ended_at is not null or o.attempt = 0
        or coalesce(p_attempt, o.attempt) <> o.attempt then
        return say('ok', null, null);
    end if;
    was := s.state;

    case o.kind
    when 'create' then
        if p_error is null then
            s := move(s, 'running', at);
            if s.state <> was then s.startup := p_startup; end if;
        elsif s.state <> 'stopping' then  -- one that is being deleted goes on to stopped
            s := move(s, 'failed', at);
        end if;
        s := end_operation(s, o, p_error, null, at);
    when 'exec' then
        if p_exec_error is not null and o.cancel_wanted and p_killed then
            s := end_operation(s, o, 'cancelled', coalesce(p_output, killed_output('exec')), at);
        else
            s := end_operation(s, o, p_exec_error, coalesce(p_output, output_of(p_error is null)), at);
        end if;
        if p_sandbox_ended and s.state = 'running' then
            s := fail_sandbox(s, 'sandbox lost: its worker says that it ended during a command', at);
        end if;
    when 'delete' then
        if p_error is null and s.state = 'stopping' then
            s := finish_teardown(s, o, at);
        else
            if p_error is not null and s.deletion = o.id then
                s := move(s, 'failed', at);
                if s.state <> was then s := end_open(s, 'cancelled', o.id, at); end if;
            end if;
            s := end_operation(s, o, p_error, null, at);
        end if;
    else
        s := end_operation(s, o, p_error, null, at);
    end case;
    perform save(s);
    return say('ok', null, null);
end
$$;
