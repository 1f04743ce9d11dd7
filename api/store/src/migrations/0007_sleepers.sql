-- Whether a device may be woken, as it was found asleep last.
alter table devices add column may_be_woken bigint;
