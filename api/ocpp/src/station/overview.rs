//! State of a charge point as operators see it: limits in force against those that are wanted, and
//! its deviations with their sources.
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use slackwater_control::charging_profile::supply::Limit;
use slackwater_control::quirk::catalogue::Catalogue;
use slackwater_engine::units::Current;

use crate::facts::Connector;
use crate::station::connector::ConnectorState;
use crate::station::state::{Rules, Station};

impl Station {
    /// Everything that an operator may want to know about a charge point, as JSON.
    #[must_use]
    pub fn describe_state(&self, rules: &Rules, now: DateTime<Utc>) -> Value {
        let connectors = self.connectors.iter();
        json!({
            "model": self.model,
            "is_connected": self.link.is_some(),
            "heard_at": self.heard_at,
            "clock_late_seconds": self.clock_lag().map(|lag| lag.num_seconds()),
            "takes_limits": self.takes_limits(),
            "connectors": connectors
                .map(|(number, state)| describe_connector(*number, state, rules, now))
                .collect::<Vec<_>>(),
            "deviations": self.describe_deviations(),
            "assumptions": self.assumptions,
            "variables": self.variables,
        })
    }

    /// Deviations, each with how it was found: in the catalogue of models, by a trial, or by a
    /// profile that was refused.
    fn describe_deviations(&self) -> Vec<Value> {
        let known = Catalogue::built_in().reports(self.boot_names()).map(|report| {
            json!({"deviation": report.kind, "found": "catalogue", "source": report.thread})
        });
        let trials = self.trials.found(self.model.as_ref());
        let tried = trials.map(|quirk| json!({"deviation": quirk, "found": "trial"}));
        let refused = self.learned.quirks.iter();
        let refused = refused.map(|quirk| json!({"deviation": quirk, "found": "refusal"}));
        known.chain(tried).chain(refused).collect()
    }
}

fn describe_connector(
    number: Connector,
    state: &ConnectorState,
    rules: &Rules,
    now: DateTime<Utc>,
) -> Value {
    let limits = &state.limits;
    let paused = limits.is_paused.then_some(Limit::Current(Current::ZERO));
    let transaction = state.transactions.open.as_ref();
    let balanced = limits.balanced.as_ref();
    json!({
        "connector": number,
        "status": state.status,
        "power_kw": state.power,
        "identified": state.identification,
        "register_kwh": state.register(),
        "transaction": transaction.map(|open| json!({"id": open.id, "started_at": open.started_at})),
        "limits": {
            "wanted": paused.or(limits.wanted),
            "upstream": limits.cap.and_then(|cap| cap.now),
            "default_amps": limits.safe(rules.safe_current),
            "has_default": limits.has_default,
            "written": limits.written,
            "composite": limits.check,
            "retry_at": limits.retry_at,
            // In a site: the highest current that it may draw now by anything ever sent.
            "may_draw_amps": balanced.map(|own| own.ledger.may_draw(now)),
            "draws_more": balanced.map(|own| own.draws_more),
        },
    })
}
