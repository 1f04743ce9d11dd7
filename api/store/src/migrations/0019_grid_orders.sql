-- Orders and signs of life of the senders of grid orders, as the rules of control state them, and
-- the limit that was last put in force.
create table grid_orders (
    name text primary key,
    grid_state text not null
);
