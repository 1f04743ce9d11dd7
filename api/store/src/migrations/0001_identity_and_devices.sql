-- Text, bigint and nothing else: the same statements run on SQLite and PostgreSQL.
-- Instants are microseconds since 1970, truth is 0 or 1.

create table settings (
    name text primary key,
    value text not null
);

create table clients (
    id text primary key,
    environment text not null,
    name text not null,
    secret_hash text not null,
    version text not null,
    created_at bigint not null
);

create table tokens (
    hash text primary key,
    client_id text not null references clients (id) on delete cascade,
    expires_at bigint not null
);

create index tokens_by_expiry on tokens (expires_at);

create table users (
    client_id text not null references clients (id) on delete cascade,
    id text not null,
    created_at bigint not null,
    deauthorised_at bigint,
    primary key (client_id, id)
);

-- The account of a user with a manufacturer. Without a secret it must be linked again.
create table connections (
    client_id text not null,
    user_id text not null,
    vendor text not null,
    secret text,
    is_valid bigint not null,
    created_at bigint not null,
    primary key (client_id, user_id, vendor),
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);

create table locations (
    id text primary key,
    client_id text not null,
    user_id text not null,
    facts text not null,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);

create index locations_by_user on locations (client_id, user_id);

create table devices (
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
    location_at bigint,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);

create index devices_by_user on devices (client_id, user_id);

create unique index devices_by_vendor on devices (client_id, user_id, vendor, vendor_device);

create table link_sessions (
    hash text primary key,
    client_id text not null,
    user_id text not null,
    request text not null,
    device_id text,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint,
    foreign key (client_id, user_id) references users (client_id, id) on delete cascade
);

create index link_sessions_by_user on link_sessions (client_id, user_id);
