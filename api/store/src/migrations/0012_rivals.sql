-- Creation of an earlier action whose command the device may still obey.
alter table actions add column rival_created_at bigint;

-- The last thing that a device was told.
create index actions_told on actions (target_id, sent_at) where sent_at is not null;
