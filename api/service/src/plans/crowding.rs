//! Devices that use the limit of an area while another one waits, for operators.
//!
//! They are devices of other users, too: no page or answer that a user sees may name them.
use chrono::{DateTime, Utc};
use serde::Serialize;
use slackwater_engine::shared_supply::{OtherLoad, find_crowding_loads};
use uuid::Uuid;

use crate::plans::beside::{Area, read_loads};
use crate::state::App;
use crate::words::name_device;
use slackwater_store::devices::Device;

/// Devices that are named, those that take most first.
const NAMED_MAX: usize = 3;

/// Device that leaves another one less than its power of the limit of their area.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CrowdingDevice {
    /// The device.
    pub device_id: Uuid,
    /// Its name, as people know it.
    pub name: String,
    /// User who linked it.
    pub user_id: String,
    /// Mean power that it takes while the limit leaves the other one too little.
    pub power_kw: f64,
}

/// Devices that by their present plans leave a device less than its power of the limit of its area,
/// between now and its deadline; without a deadline, and the end of the last of these plans. Empty
/// without a plan, without a limit, and where there is room throughout.
#[must_use]
pub fn find_crowding_devices(app: &App, device: &Device) -> Vec<CrowdingDevice> {
    let now = app.now();
    app.cache().read(|tables| {
        let named = || {
            let facts = &tables.whereabouts(device)?.facts;
            let (zone, name) = (facts.zone_id.clone()?, facts.area_id.clone()?);
            let limit = app.area_limit(&zone, &name)?;
            let by = tables.plans.plan(device.id)?.state.cycle.and_then(|cycle| cycle.promise);
            let area = Area { client: device.client_id.clone(), zone, name };
            let mut loads = read_loads(app, tables, &area);
            let power = loads.remove(&device.id)?.power;
            let (ids, loads): (Vec<Uuid>, Vec<OtherLoad>) = loads.into_iter().unzip();
            let to = by.map_or_else(|| last_end(&loads), |promise| promise.by);
            let users = find_crowding_loads(&loads, (&*limit, power), (now, to), NAMED_MAX);
            let crowding = users.iter().filter_map(|user| {
                let other = tables.any_device(ids[user.position])?;
                Some(CrowdingDevice {
                    device_id: other.id,
                    name: name_device(other),
                    user_id: other.user_id.to_string(),
                    power_kw: user.power.as_kw(),
                })
            });
            Some(crowding.collect())
        };
        named().unwrap_or_default()
    })
}

/// Beginning of the sentence that names such devices.
pub const CROWDED: &str = "While the limit of its area leaves it too little, most of it is used by";

/// Sentence on devices that use the limit of an area while another one waits; `None` without one.
#[must_use]
pub fn explain_crowding(devices: &[CrowdingDevice]) -> Option<String> {
    let name =
        |one: &CrowdingDevice| format!("{} of {} ({:.1} kW)", one.name, one.user_id, one.power_kw);
    let names: Vec<String> = devices.iter().map(name).collect();
    (!devices.is_empty()).then(|| format!("{CROWDED} {}.", names.join(", ")))
}

/// End of the last period of all loads.
fn last_end(loads: &[OtherLoad]) -> DateTime<Utc> {
    let ends = loads.iter().filter_map(|load| load.intervals.last()).map(|last| last.end);
    ends.max().unwrap_or(DateTime::<Utc>::MIN_UTC)
}
