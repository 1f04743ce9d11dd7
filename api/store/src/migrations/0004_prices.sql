-- A market zone as a client knows it, beside those of the settings.
create table zones (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    currency text not null,
    is_activated bigint not null,
    primary key (client_id, id)
);

-- A step function of prices: of the market of a zone (no client, no area), or
-- what a client pushed for an area. The revision counts its changes.
create table price_series (
    id text primary key,
    client_id text references clients (id) on delete cascade,
    zone_id text not null,
    area_id text,
    currency text not null,
    revision bigint not null
);

create unique index price_series_by_name
    on price_series (zone_id, coalesce(client_id, ''), coalesce(area_id, ''));

-- The price of a kWh in [start_at, end_at), with all its digits.
create table price_steps (
    series_id text not null references price_series (id) on delete cascade,
    start_at bigint not null,
    end_at bigint not null,
    price text not null,
    primary key (series_id, start_at)
);

create table tariffs (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    rates text not null,
    primary key (client_id, id)
);

-- Which tariff a location has, and when which of its rates holds.
create table tariff_schedules (
    location_id text primary key references locations (id) on delete cascade,
    tariff_id text not null,
    intervals text not null
);

-- A stay of a vehicle at a plug. Frozen once it has ended and all of its energy is known.
create table charge_sessions (
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

create index charge_sessions_by_user on charge_sessions (client_id, user_id, kind, plugged_in_at);

-- Samples of a device at one place, of one day and of one session: all that is
-- read together lies together. No session is an empty text.
create table samples (
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

create index samples_by_user on samples (client_id, user_id, kind, start_at);

create index samples_by_session on samples (session_id);

-- Until when the energy of a device is recorded.
create table recordings (
    device_id text primary key references devices (id) on delete cascade,
    until bigint not null
);
