-- What devices are told. Client and user are not foreign keys of a user: that an
-- action ended because its user was deleted can be read afterwards.
create table actions (
    id text primary key,
    client_id text not null references clients (id) on delete cascade,
    user_id text not null,
    target_id text not null,
    kind text not null,
    command text not null,
    origin text not null,
    state text not null,
    created_at bigint not null,
    updated_at bigint not null,
    completed_at bigint,
    failure text,
    sent_count bigint not null,
    sent_at bigint
);

-- One pending action per device, whoever writes.
create unique index actions_pending on actions (target_id) where state = 'pending';

-- "Charge now". One active override per device, whoever writes.
create table overrides (
    id text primary key,
    client_id text not null,
    user_id text not null,
    target_id text not null references devices (id) on delete cascade,
    kind text not null,
    vendor text not null,
    action_id text,
    created_at bigint not null,
    ended_at bigint,
    has_start_action bigint not null,
    has_charged bigint not null
);

create unique index overrides_active on overrides (target_id) where ended_at is null;

create index overrides_by_target on overrides (target_id);

create table schedules (
    id text primary key,
    client_id text not null,
    user_id text not null,
    target_id text not null references devices (id) on delete cascade,
    target_type text not null,
    location_id text,
    is_enabled bigint not null,
    default_should_charge bigint not null,
    rules text not null,
    created_at bigint not null,
    -- The status as it was last seen to change, and when.
    status text,
    changed_at bigint
);

create index schedules_by_target on schedules (target_id);
