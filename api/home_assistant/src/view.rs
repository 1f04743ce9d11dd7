//! Devices and their plans, as they are read from the service.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use slackwater_control::device::command::Switch;
use slackwater_control::device::control::Controller;
use slackwater_control::device::scope::DeviceKind;
use slackwater_integration::reading::Facts;
use slackwater_service::cache::price_lookup::NO_CURRENCY;
use slackwater_service::cache::tables::{OfUser, Tables};
use slackwater_service::control::facts::ControlContext;
use slackwater_service::plans::follow::wanted_in;
use slackwater_service::plans::show::{ShownPlan, open_plan};
use slackwater_service::state::App;
use slackwater_service::words::name_device;
use slackwater_store::devices::Device;
use slackwater_store::error::StoreError;
use slackwater_store::plans::KeptPlan;
use uuid::Uuid;

/// Facts about a device that change rarely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCard {
    /// Its identifier.
    pub id: Uuid,
    /// Name for people.
    pub name: String,
    /// Make.
    pub manufacturer: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Currency of its prices, if it is known.
    pub currency: Option<String>,
}

/// A device with its plan at an instant.
#[derive(Debug, Clone)]
pub struct DeviceView {
    /// Facts about it.
    pub card: DeviceCard,
    /// Controller of its charging.
    pub controller: Controller,
    /// Position of the switch that its plan orders now, if it orders any.
    pub order: Option<Switch>,
    /// Time zone of its location, for sentences.
    pub time_zone: Tz,
    /// Its last plan, or why there is none.
    pub plan: Option<Arc<ShownPlan>>,
}

/// Facts of a device that the tables in memory have.
struct Row {
    card: DeviceCard,
    controller: Controller,
    order: Option<Switch>,
    time_zone: Tz,
    zone_id: Option<String>,
    kept: Option<Arc<KeptPlan>>,
}

/// A plan that was read in full: it takes a row of the database.
#[derive(Debug)]
struct OpenedOnce {
    kept: Arc<KeptPlan>,
    shown: Arc<ShownPlan>,
    currency: Option<String>,
}

/// Reader of the devices of a user, which opens each plan once.
#[derive(Debug, Default)]
pub struct Reader {
    opened: HashMap<Uuid, OpenedOnce>,
}

impl Reader {
    /// Vehicles and chargers of a user with a policy, by their identifiers. A user who is not known
    /// has none.
    ///
    /// # Errors
    /// The database failed.
    pub async fn read_devices(
        &mut self,
        app: &App,
        (client_id, user_id): (&str, &str),
    ) -> Result<Vec<DeviceView>, StoreError> {
        let now = app.now();
        let rows = app.cache().read(|tables| read_rows(tables, (client_id, user_id), now));
        self.opened.retain(|id, _| rows.contains_key(id));
        let mut views = Vec::with_capacity(rows.len());
        for (id, row) in rows {
            let (shown, of_plan) = self.open_once(app, id, row.kept).await?;
            let of_zone = || {
                let zone = app.price_lookup().zone(client_id, row.zone_id.as_deref()?)?;
                Some(zone.currency.code().to_owned())
            };
            let currency = of_plan.or_else(of_zone).filter(|code| code != NO_CURRENCY);
            views.push(DeviceView {
                card: DeviceCard { currency, ..row.card },
                controller: row.controller,
                order: row.order,
                time_zone: row.time_zone,
                plan: shown,
            });
        }
        Ok(views)
    }

    /// The last plan of a device with its reasons, and the currency of its prices.
    async fn open_once(
        &mut self,
        app: &App,
        id: Uuid,
        kept: Option<Arc<KeptPlan>>,
    ) -> Result<(Option<Arc<ShownPlan>>, Option<String>), StoreError> {
        let Some(kept) = kept else {
            self.opened.remove(&id);
            return Ok((None, None));
        };
        // Each new plan is another allocation, and this one is kept alive here.
        let known = self.opened.get(&id).filter(|known| Arc::ptr_eq(&known.kept, &kept));
        if let Some(OpenedOnce { shown, currency, .. }) = known {
            return Ok((Some(Arc::clone(shown)), currency.clone()));
        }
        let Some(opened) = open_plan(app, id).await? else { return Ok((None, None)) };
        let currency = opened.sheet.map(|sheet| sheet.currency);
        let shown = Arc::new(opened.shown);
        let once = OpenedOnce { kept, shown: Arc::clone(&shown), currency: currency.clone() };
        self.opened.insert(id, once);
        Ok((Some(shown), currency))
    }
}

fn read_rows(
    tables: &Tables,
    (client_id, user_id): (&str, &str),
    now: DateTime<Utc>,
) -> BTreeMap<Uuid, Row> {
    let ids = tables.user(client_id, user_id).map(OfUser::device_ids).unwrap_or_default();
    let devices = ids.into_iter().filter_map(|id| tables.any_device(id));
    let planned = devices.filter(|device| {
        matches!(device.kind, DeviceKind::Vehicle | DeviceKind::Charger)
            && tables.plans.has_policy(device.id)
    });
    planned.map(|device| (device.id, read_row(tables, device, now))).collect()
}

fn read_row(tables: &Tables, device: &Device, now: DateTime<Utc>) -> Row {
    let location = tables.whereabouts(device).map(|location| &location.facts);
    let (manufacturer, model) = make_of(device);
    Row {
        card: DeviceCard {
            id: device.id,
            name: name_device(device),
            manufacturer,
            model,
            currency: None,
        },
        controller: ControlContext { device, tables, now }.controller(),
        order: wanted_in(tables, device.id, now).switch,
        time_zone: location.and_then(|facts| facts.time_zone).unwrap_or(Tz::UTC),
        zone_id: location.and_then(|facts| facts.zone_id.clone()),
        kept: tables.plans.plan(device.id).cloned(),
    }
}

/// Make and model of a device.
fn make_of(device: &Device) -> (Option<String>, Option<String>) {
    let written = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    match device.state.reading.as_deref().map(|reading| &reading.facts) {
        Some(Facts::Vehicle(facts)) => {
            let about = &facts.information;
            let [brand, model] = [&about.brand, &about.model].map(|text| text.as_deref());
            (brand.and_then(written), model.and_then(written))
        }
        Some(Facts::Charger(facts)) => {
            (written(&facts.information.brand), written(&facts.information.model))
        }
        _ => (None, None),
    }
}
