-- Process that reads the devices of a vendor at present, by a lease. Of a server only: a file has one
-- process.
create table vendor_readers (
    environment text not null,
    vendor text not null,
    lease_owner text,
    lease_until bigint,
    primary key (environment, vendor)
);
