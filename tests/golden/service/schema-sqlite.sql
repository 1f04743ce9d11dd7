CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
CREATE TABLE actions (
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
, rival_created_at bigint, traceparent text);
CREATE UNIQUE INDEX actions_pending on actions (target_id) where state = 'pending';
CREATE INDEX actions_told on actions (target_id, sent_at) where sent_at is not null;
CREATE TABLE area_jobs (
    client_id text not null references clients (id) on delete cascade,
    zone_id text not null,
    area_id text not null,
    asked bigint not null,
    done bigint not null,
    asked_at bigint not null,
    lease_owner text,
    lease_until bigint,
    primary key (client_id, zone_id, area_id)
);
CREATE TABLE area_limits (
    zone_id text not null,
    area_id text not null,
    area_limit text not null,
    primary key (zone_id, area_id)
);
CREATE TABLE audit (
    seq bigint primary key,
    happened_at bigint not null,
    operator text not null,
    role text not null,
    peer text not null,
    method text not null,
    path text not null,
    status bigint not null
);
CREATE INDEX audit_by_time on audit (happened_at);
CREATE TABLE charge_sessions (
    id text primary key,
    client_id text not null,
    user_id text not null,
    device_id text not null,
    kind text not null,
    location_id text,
    plugged_in_at bigint not null,
    unplugged_at bigint,
    is_smart bigint not null,
    is_frozen bigint not null,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE INDEX charge_sessions_by_user on charge_sessions (client_id, user_id, kind, plugged_in_at);
CREATE TABLE clients (
    id text primary key,
    environment text not null,
    name text not null,
    secret_hash text not null,
    version text not null,
    created_at bigint not null
);
CREATE TABLE connections (
    client_id text not null,
    user_id text not null,
    vendor text not null,
    secret text,
    is_valid bigint not null,
    created_at bigint not null, secret_key text, renewed_by text, renewed_until bigint,
    primary key (client_id, user_id, vendor),
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE TABLE counters (
    name text primary key,
    value bigint not null
);
CREATE TABLE devices (
    id text primary key,
    client_id text not null,
    user_id text not null,
    kind text not null,
    vendor text not null,
    vendor_device text not null,
    scopes text not null,
    linked_at bigint not null,
    heard_at bigint,
    is_reachable bigint,
    reading text,
    location_id text,
    location_at bigint, may_be_woken bigint, uptake text,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE INDEX devices_by_user on devices (client_id, user_id);
CREATE UNIQUE INDEX devices_by_vendor on devices (client_id, user_id, vendor, vendor_device);
CREATE TABLE events (
    seq bigint primary key,
    id text not null unique,
    client_id text not null,
    user_id text not null,
    target_id text,
    name text not null,
    version text not null,
    happened_at bigint not null,
    body text not null
, traceparent text);
CREATE INDEX events_by_client on events (client_id, seq);
CREATE TABLE flex_policies (
    id text primary key,
    client_id text not null references clients (id) on delete cascade,
    vehicle_id text not null references devices (id) on delete cascade,
    location_id text not null references locations (id) on delete cascade,
    policy text not null,
    created_at bigint not null
);
CREATE INDEX flex_policies_by_vehicle on flex_policies (vehicle_id);
CREATE TABLE grid_orders (
    name text primary key,
    grid_state text not null
);
CREATE TABLE link_sessions (
    hash text primary key,
    client_id text not null,
    user_id text not null,
    request text not null,
    device_id text,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint, progress text, refused bigint not null default 0,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE INDEX link_sessions_by_user on link_sessions (client_id, user_id);
CREATE TABLE locations (
    id text primary key,
    client_id text not null,
    user_id text not null,
    facts text not null,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE INDEX locations_by_user on locations (client_id, user_id);
CREATE TABLE overrides (
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
, restart_until bigint);
CREATE UNIQUE INDEX overrides_active on overrides (target_id) where ended_at is null;
CREATE INDEX overrides_by_target on overrides (target_id);
CREATE TABLE plans (
    device_id text primary key references devices (id) on delete cascade,
    flex_policy_id text,
    made_at bigint not null,
    sheet_id text,
    state text not null
);
CREATE INDEX plans_by_sheet on plans (sheet_id);
CREATE TABLE price_feeds (
    zone_id text primary key,
    lease_owner text,
    lease_until bigint,
    next_at bigint not null,
    tried_at bigint,
    succeeded_at bigint,
    failures bigint not null,
    last_failure text,
    last_rows bigint,
    validators text not null
);
CREATE TABLE price_series (
    id text primary key,
    client_id text references clients (id) on delete cascade,
    zone_id text not null,
    area_id text,
    currency text not null,
    revision bigint not null
);
CREATE UNIQUE INDEX price_series_by_name
    on price_series (zone_id, coalesce(client_id, ''), coalesce(area_id, ''));
CREATE TABLE price_sheets (
    id text primary key,
    currency text not null,
    prices text not null
);
CREATE TABLE price_steps (
    series_id text not null references price_series (id) on delete cascade,
    start_at bigint not null,
    end_at bigint not null,
    price text not null,
    primary key (series_id, start_at)
);
CREATE TABLE recordings (
    device_id text primary key references devices (id) on delete cascade,
    until bigint not null
);
CREATE TABLE samples (
    device_id text not null,
    start_at bigint not null,
    session_id text not null,
    end_at bigint not null,
    client_id text not null,
    user_id text not null,
    kind text not null,
    location_id text,
    columns text not null,
    primary key (device_id, start_at, session_id),
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);
CREATE INDEX samples_by_session on samples (session_id);
CREATE INDEX samples_by_user on samples (client_id, user_id, kind, start_at);
CREATE TABLE schedules (
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
CREATE INDEX schedules_by_target on schedules (target_id);
CREATE TABLE settings (
    name text primary key,
    value text not null
);
CREATE TABLE smart_charging_policies (
    device_id text primary key references devices (id) on delete cascade,
    policy text not null
);
CREATE TABLE subscriptions (
    id text primary key,
    name text not null unique,
    is_configured bigint not null,
    client_id text not null references clients (id) on delete cascade,
    url text not null,
    version text,
    events text not null,
    template text,
    secret text,
    posted_seq bigint not null,
    failures bigint not null,
    due_at bigint not null,
    last_failure text,
    leased_by text,
    leased_until bigint not null
, secret_key text);
CREATE INDEX subscriptions_by_due on subscriptions (due_at);
CREATE TABLE tariff_schedules (
    location_id text primary key references locations (id) on delete cascade,
    tariff_id text not null,
    intervals text not null
);
CREATE TABLE tariffs (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    rates text not null,
    primary key (client_id, id)
);
CREATE TABLE tokens (
    hash text primary key,
    client_id text not null references clients (id) on delete cascade,
    expires_at bigint not null
);
CREATE INDEX tokens_by_expiry on tokens (expires_at);
CREATE TABLE users (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    created_at bigint not null,
    deauthorised_at bigint,
    primary key (client_id, id)
);
CREATE TABLE zones (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    currency text not null,
    is_activated bigint not null,
    primary key (client_id, id)
);
