-- Name of the key that the secret of a row is encrypted with; null for clear text.
alter table connections add column secret_key text;

alter table subscriptions add column secret_key text;
