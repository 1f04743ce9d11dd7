//! Models that are not in the catalogue, outside of a site: they are asked, and not tried out.
use serde_json::{Value, json};
use slackwater_control::device::command::Command;
use slackwater_engine::units::amps;

use crate::rig::Rig;

/// Deviations as operators see them.
pub(crate) fn deviations(rig: &Rig) -> Value {
    rig.station.describe_state(&rig.rules, rig.now)["deviations"].clone()
}

/// A charge point of a model that is not known, after ten idle minutes, with all that it was asked.
fn idle_for_minutes() -> (Rig, Vec<String>) {
    let mut rig = Rig::booted();
    let mut asked = Vec::new();
    for _ in 0..20 {
        rig.wait(30);
        while let Some((_, action, _)) = rig.asked.last().cloned() {
            asked.push(action);
            rig.replies(&json!({"configurationKey": []}));
        }
    }
    (rig, asked)
}

/// No fuse depends on it there, and a profile of a trial could meet a vehicle.
#[test]
fn a_model_is_not_tried_out_while_it_is_idle() {
    let (rig, asked) = idle_for_minutes();
    assert_eq!(asked, ["GetConfiguration"]);
    assert_eq!(deviations(&rig), json!([]));
    assert!(rig.station.takes_limits());
}

/// Its deviations show by the profiles that it refuses, and stay known after a restart of the service.
#[test]
fn a_form_that_is_refused_is_shown_as_a_deviation_that_a_refusal_has_shown() {
    let (mut rig, _) = idle_for_minutes();
    rig.command(Command::MaxCurrent(amps(10.0)), 1);
    let mut forms = 0;
    while let Some((_, action, payload)) = rig.asked.last().cloned() {
        let unit = &payload["csChargingProfiles"]["chargingSchedule"]["chargingRateUnit"];
        let is_taken = action != "SetChargingProfile" || unit == "W";
        forms += 1;
        rig.replies(&json!({"status": if is_taken { "Accepted" } else { "Rejected" }}));
        assert!(forms < 20, "it comes to an end");
    }
    let shown = json!([{"deviation": "watts_only", "found": "refusal"}]);
    assert_eq!(deviations(&rig), shown);
    rig.restarts();
    assert_eq!(deviations(&rig), shown);
}
