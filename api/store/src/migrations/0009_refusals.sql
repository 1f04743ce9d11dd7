-- How often a manufacturer refused a log-in in a link session.
alter table link_sessions add column refused bigint not null default 0;
