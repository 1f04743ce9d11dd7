-- PostgreSQL only. Changes of limits are told to all processes, as those of 0011.
create function slackwater_note_area_limits() returns trigger language plpgsql as $$
begin
    if tg_op <> 'INSERT' then perform slackwater_note('limits', old.zone_id, old.area_id); end if;
    if tg_op <> 'DELETE' then perform slackwater_note('limits', new.zone_id, new.area_id); end if;
    return null;
end
$$;

create trigger told_all after insert or delete on area_limits
    for each row execute function slackwater_note_area_limits();

create trigger told_changes after update on area_limits
    for each row when (old.* is distinct from new.*)
    execute function slackwater_note_area_limits();
