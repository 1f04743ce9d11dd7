-- Rows of one number each, counted up within the change that needs the next.
-- The lock on the row puts changes of several replicas in one order.
create table counters (
    name text primary key,
    value bigint not null
);

insert into counters (name, value) values ('events', 0);

-- What happened, written in the change in which it happened. Client and user are
-- not foreign keys: what happened is told also of users who were deleted since.
create table events (
    seq bigint primary key,
    id text not null unique,
    client_id text not null,
    user_id text not null,
    target_id text,
    name text not null,
    version text not null,
    happened_at bigint not null,
    body text not null
);

create index events_by_client on events (client_id, seq);
