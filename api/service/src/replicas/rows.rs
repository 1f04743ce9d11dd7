//! The rows of what was noted, as they are now.
use chrono::{DateTime, Utc};
use sqlx::AnyConnection;
use uuid::Uuid;

use slackwater_store::accounts::{self, Account};
use slackwater_store::actions::{self, Action};
use slackwater_store::devices::{self, Device};
use slackwater_store::error::StoreError;
use slackwater_store::keyring::Keyring;
use slackwater_store::limits::{self, LimitRow};
use slackwater_store::locations::{self, Location};
use slackwater_store::notes::ChangedKeys;
use slackwater_store::overrides::{self, Override};
use slackwater_store::plans::{self, KeptPlan};
use slackwater_store::policies::{self, FlexRow, SmartPolicy};
use slackwater_store::prices::{self, ZoneRow};
use slackwater_store::samples::{self, ChargeSession};
use slackwater_store::schedules::{self, Schedule};
use slackwater_store::tariffs::{self, TariffRow, TariffSchedule};
use slackwater_store::users::{self, User};

/// All rows of the keys that were touched. A key without a row is deleted.
#[derive(Debug)]
pub struct ReloadedRows {
    pub(super) users: Vec<User>,
    pub(super) accounts: Vec<Account>,
    pub(super) locations: Vec<Location>,
    pub(super) devices: Vec<Device>,
    pub(super) smart: Vec<(Uuid, SmartPolicy)>,
    pub(super) flex: Vec<FlexRow>,
    pub(super) plans: Vec<KeptPlan>,
    pub(super) pending: Vec<Action>,
    pub(super) overrides: Vec<Override>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) until: Vec<(Uuid, DateTime<Utc>)>,
    pub(super) sessions: Vec<ChargeSession>,
    pub(super) tariffs: Vec<TariffRow>,
    pub(super) tariff_schedules: Vec<(Uuid, TariffSchedule)>,
    pub(super) zones: Vec<ZoneRow>,
    pub(super) limits: Vec<LimitRow>,
}

impl ReloadedRows {
    /// Reads them: one statement for each table of which something was touched.
    ///
    /// # Errors
    /// The database failed, or holds what this version does not know.
    pub async fn read(
        from: &mut AnyConnection,
        touched: &ChangedKeys,
        keys: &Keyring,
    ) -> Result<Self, StoreError> {
        let ChangedKeys { users, policies, control, recordings, .. } = touched;
        Ok(Self {
            users: users::users_of_names(from, users).await?,
            accounts: accounts::accounts_of_users(from, users, keys).await?,
            locations: locations::locations_of_users(from, users).await?,
            devices: devices::devices_of_ids(from, &touched.devices).await?,
            smart: policies::smart_policies_of(from, policies).await?,
            flex: policies::flex_policies_of(from, policies).await?,
            plans: plans::plans_of_devices(from, &touched.plans).await?,
            pending: actions::pending_actions_of(from, control).await?,
            overrides: overrides::active_overrides_of(from, control).await?,
            schedules: schedules::schedules_of_targets(from, control).await?,
            until: samples::recordings_of(from, recordings).await?,
            sessions: samples::open_sessions_of(from, recordings).await?,
            tariffs: tariffs::tariffs_of_names(from, &touched.tariffs).await?,
            tariff_schedules: tariffs::tariff_schedules_of(from, &touched.places).await?,
            zones: prices::zones_of(from, &touched.zones).await?,
            limits: limits::limits_of(from, &touched.limits).await?,
        })
    }
}
