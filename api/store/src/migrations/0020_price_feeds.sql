-- Sources of market prices, by zone: who fetches at present, when it is next done, what came of the
-- last try, and validators of replies for conditional requests, in JSON.
create table price_feeds (
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
