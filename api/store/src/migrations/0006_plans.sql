-- What smart charging is to do with a device, as the engine states it.
create table smart_charging_policies (
    device_id text primary key references devices (id) on delete cascade,
    policy text not null
);

create table flex_policies (
    id text primary key,
    client_id text not null references clients (id) on delete cascade,
    vehicle_id text not null references devices (id) on delete cascade,
    location_id text not null references locations (id) on delete cascade,
    policy text not null,
    created_at bigint not null
);

create index flex_policies_by_vehicle on flex_policies (vehicle_id);

-- Prices that plans were made with. Many plans share one sheet; its name is the
-- hash of its text.
create table price_sheets (
    id text primary key,
    currency text not null,
    prices text not null
);

-- The last plan of each device, or why there is none.
create table plans (
    device_id text primary key references devices (id) on delete cascade,
    flex_policy_id text,
    made_at bigint not null,
    sheet_id text,
    state text not null
);

create index plans_by_sheet on plans (sheet_id);

-- Areas whose prices changed, and how far their plans have followed. An area
-- that is empty stands for the whole zone. Whoever holds the lease works on it;
-- leases are in time of the machine, as the sandbox's may stand still.
create table area_jobs (
    client_id text not null references clients (id) on delete cascade,
    zone_id text not null,
    area_id text not null,
    asked bigint not null,
    done bigint not null,
    asked_at bigint not null,
    lease_owner text,
    lease_until bigint,
    primary key (client_id, zone_id, area_id)
);
