-- Until when a device that does not charge is started under an override: a stop
-- sent before it may be obeyed so late.
alter table overrides add column restart_until bigint;
