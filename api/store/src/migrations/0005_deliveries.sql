-- How far a user came in a link session, sealed with a key that only the
-- user's browser has.
alter table link_sessions add column progress text;

-- Where events are posted to. The row is leased by the process that posts, so
-- that of several replicas one does; what is posted next is the first event
-- after `posted_seq` that the subscription asks for.
create table subscriptions (
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
);

create index subscriptions_by_due on subscriptions (due_at);
