-- Lease of an account whose tokens a process renews: a refresh token may be good for one use.
alter table connections add column renewed_by text;

alter table connections add column renewed_until bigint;
