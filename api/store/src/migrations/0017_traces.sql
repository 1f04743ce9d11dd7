-- Trace context (W3C `traceparent`) of the work that wrote a row; null while no traces are sent.
alter table actions add column traceparent text;

alter table events add column traceparent text;
