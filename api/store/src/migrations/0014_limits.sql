-- Limits of areas that operators set while the service runs, as the engine states them. They come
-- before those of the settings.
create table area_limits (
    zone_id text not null,
    area_id text not null,
    area_limit text not null,
    primary key (zone_id, area_id)
);
