insert into counters (name, value) values ('audit', 0);

-- What operators did, and how it ended. Rows are added and, when they are old, deleted.
create table audit (
    seq bigint primary key,
    happened_at bigint not null,
    operator text not null,
    role text not null,
    peer text not null,
    method text not null,
    path text not null,
    status bigint not null
);

create index audit_by_time on audit (happened_at);
