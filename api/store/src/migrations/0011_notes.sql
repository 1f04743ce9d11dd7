-- PostgreSQL only. Every change of a row that processes keep in memory is told
-- to all of them when it is committed, as a JSON array: the process that made
-- it, what kind of row it is, and the key under which the kind is read again.
create function slackwater_note(kind text, variadic key text[]) returns void
language plpgsql as $$
declare
    origin constant text := coalesce(current_setting('slackwater.replica', true), '');
    note text := array_to_json(array[origin, kind] || key)::text;
begin
    -- The longest that is passed on has 7999 bytes.
    if octet_length(note) > 7999 then
        note := array_to_json(array[origin, 'all'])::text;
    end if;
    perform pg_notify('slackwater', note);
end
$$;

-- A table, the kind of its rows, and the columns of the key.
do $$
declare
    told record;
    body text;
begin
    for told in select * from (values
        ('users', 'users', array['client_id', 'id']),
        ('connections', 'users', array['client_id', 'user_id']),
        ('locations', 'users', array['client_id', 'user_id']),
        ('devices', 'devices', array['id']),
        ('smart_charging_policies', 'policies', array['device_id']),
        ('flex_policies', 'policies', array['vehicle_id']),
        ('plans', 'plans', array['device_id']),
        ('actions', 'control', array['target_id']),
        ('overrides', 'control', array['target_id']),
        ('schedules', 'control', array['target_id']),
        ('recordings', 'recordings', array['device_id']),
        ('charge_sessions', 'recordings', array['device_id']),
        ('tariffs', 'tariffs', array['client_id', 'id']),
        ('tariff_schedules', 'places', array['location_id']),
        ('zones', 'zones', array['client_id', 'id'])
    ) as tables (name, kind, key) loop
        -- A row that moves from one key to another is told under both; of two
        -- equal notes of one change PostgreSQL passes one on.
        select format(
            'begin
                if tg_op <> ''INSERT'' then perform slackwater_note(%1$L, %2$s); end if;
                if tg_op <> ''DELETE'' then perform slackwater_note(%1$L, %3$s); end if;
                return null;
            end',
            told.kind,
            string_agg(format('old.%I', part), ', '),
            string_agg(format('new.%I', part), ', ')
        ) into body from unnest(told.key) as part;
        execute format(
            'create function slackwater_note_%s() returns trigger language plpgsql as %L',
            told.name, body);
        execute format(
            'create trigger told_all after insert or delete on %1$I
             for each row execute function slackwater_note_%1$s()', told.name);
        -- Rows are also written to lock them.
        execute format(
            'create trigger told_changes after update on %1$I
             for each row when (old.* is distinct from new.*)
             execute function slackwater_note_%1$s()', told.name);
    end loop;
end
$$;

-- What is not frozen yet is read again by device.
create index charge_sessions_open on charge_sessions (device_id) where is_frozen = 0;
