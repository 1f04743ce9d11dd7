//! Console of operators: pages that show what the service knows, and change nothing.
//!
//! Pages are rendered on the server, load nothing, and work without scripts; only the page of
//! events has one, which adds new events by itself. Each page reads the tables in memory or a
//! bounded number of rows: its cost does not grow with the number of homes, except the load of an
//! area, which is the sum of the area's plans.
//!
//! | File | Holds |
//! |---|---|
//! | [`routes`] | addresses of the pages |
//! | [`worlds`] | environments and devices by name |
//! | [`frame`] | layout, navigation, headers, refusals as pages |
//! | [`words`] | times, quantities and states for people |
//! | [`chart`] | curves over time as SVG |
//! | [`unit`] | plan of a heating or cooling unit, on the page of the device |
//! | [`overview`], [`homes`], [`device`], [`area`], [`partners`], [`events`] | the pages |

pub(crate) mod area;
pub(crate) mod chart;
pub(crate) mod device;
pub(crate) mod events;
pub(crate) mod frame;
pub(crate) mod homes;
pub(crate) mod overview;
pub(crate) mod partners;
pub(crate) mod routes;
pub(crate) mod unit;
pub(crate) mod words;
pub(crate) mod worlds;
