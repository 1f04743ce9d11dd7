-- What polls have shown of the power that a device takes, as JSON.
alter table devices add column uptake text;
