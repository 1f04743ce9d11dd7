//! Addition of one poll to the record of a device.
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use slackwater_control::device::charge_state::Reporter;
use slackwater_control::device::control::Controller;
use slackwater_control::device::scope::DeviceKind;
use slackwater_engine::statistics::measurements::{MeterReading, Rules, from_meter};
use slackwater_engine::statistics::recording::{
    Counts, MeteredPeriod, from_periods, seen, stay_of, to_ask, with_prices,
};
use slackwater_engine::statistics::sample::Sample;
use tracing::warn;
use uuid::Uuid;

use crate::cache::device_change::DeviceChange;
use crate::cache::recorders::{Recorded, Recorder};
use crate::control::facts::ControlContext;
use crate::device_calls::call_device;
use crate::plans::wanted_in;
use crate::samples::prices_at;
use crate::samples::waiting;
use crate::state::App;
use slackwater_integration::reading::{Facts, Reading};
use slackwater_integration::vendor::{Metered, Vendor};
use slackwater_store::devices::Device;
use slackwater_store::samples::{ChargeSession, Measured};

/// Records the energy and the sessions of a device between two polls that reached it.
///
/// A failure is logged: a meter is asked for the same again after the next poll.
pub async fn record(app: &App, DeviceChange { before: earlier, after: device }: &DeviceChange) {
    let Some(counts) = counts(device.kind) else { return };
    let Some(reading) = device.state.reading.clone() else { return };
    let mut recorder = app.recorders().progress_of(device.id);
    let Recorder { until: before, sessions: was_open } = recorder.clone();
    look_at_plug(&mut recorder, app, device, &reading);
    look_who_controls(&mut recorder, app, device);
    let last = earlier.state.reading.as_ref();
    let found = flowed(app, device, (last, &reading), &recorder, counts).await;
    let (samples, until) = found.unwrap_or_default();
    if until.is_none() && recorder.sessions == was_open {
        return;
    }
    recorder.until = until.or(recorder.until);
    let parts = parts(app, device, &recorder.sessions, &samples);
    waiting::keep_recording(app, Recorded { device_id: device.id, before, recorder, parts }).await;
}

/// Direction of energy that counts for a kind of device; `None` for one without statistics.
const fn counts(kind: DeviceKind) -> Option<Counts> {
    match kind {
        DeviceKind::Vehicle | DeviceKind::Charger | DeviceKind::Hvac => Some(Counts::Taken),
        DeviceKind::Inverter => Some(Counts::Given),
        DeviceKind::Battery | DeviceKind::Meter => None,
    }
}

/// Begins or ends a session as the device says that a plug came or went.
fn look_at_plug(recorder: &mut Recorder, app: &App, device: &Device, reading: &Reading) {
    let (charging, reporter) = match &reading.facts {
        Facts::Vehicle(facts) => (&facts.charging, Reporter::Vehicle),
        Facts::Charger(facts) => (&facts.charging, Reporter::Charger),
        _ => return,
    };
    let is_plugged_in = charging.shown(reporter, app.now()).is_plugged_in;
    let stays: Vec<_> = recorder.sessions.iter().map(|session| session.stay).collect();
    for (index, stay) in seen(&stays, is_plugged_in, reading.at).into_iter().enumerate() {
        match recorder.sessions.get_mut(index) {
            Some(session) => session.stay = stay,
            None => recorder.sessions.push(ChargeSession {
                id: Uuid::new_v4(),
                measured: measured(app, device),
                stay,
                is_smart: false,
                is_frozen: false,
            }),
        }
    }
}

/// A session in which smart charging controlled the device is smart: what it
/// would have cost without is known when it ends (AMB-44).
///
/// It controls where neither an override nor a schedule does, and where its
/// plan says what to do. A policy that is on has no part in a session otherwise.
fn look_who_controls(recorder: &mut Recorder, app: &App, device: &Device) {
    let open = recorder.sessions.iter_mut().find(|session| session.stay.unplugged.is_none());
    if let Some(session) = open {
        let now = app.now();
        session.is_smart |= app.cache().read(|tables| {
            let controller = ControlContext { device, tables, now }.controller();
            controller == Controller::SmartCharging
                && wanted_in(tables, device.id, now).switch.is_some()
        });
    }
}

fn measured(app: &App, device: &Device) -> Measured {
    Measured {
        device_id: device.id,
        client_id: device.client_id.to_string(),
        user_id: device.user_id.to_string(),
        kind: device.kind,
        location_id: app
            .cache()
            .read(|tables| tables.whereabouts(device).map(|location| location.id)),
    }
}

type Flowed = (Vec<Sample>, Option<DateTime<Utc>>);

/// Energy since the device was recorded last, and the instant until which it is known.
async fn flowed(
    app: &App,
    device: &Device,
    (last, reading): (Option<&Arc<Reading>>, &Reading),
    recorder: &Recorder,
    counts: Counts,
) -> Option<Flowed> {
    let now = app.now();
    let rules = Rules::new("pause_max", TimeDelta::MAX, Some(app.config().statistics.power_max));
    let rules = rules.inspect_err(|error| warn!(%error, "nothing is recorded")).ok()?;
    let total = |reading: &Reading| {
        let counters = reading.counters?;
        Some((reading.at, counts.total(counters.imported, counters.exported)))
    };
    // Kept at each poll: whether a meter tells more is known only after a quarter of an hour.
    let counted = total(reading).map(|reading| {
        let last = last.and_then(|last| total(last));
        app.recorders().add_counted(device.id, (last, reading), recorder.until)
    });
    let (from, to) = to_ask(recorder.until.unwrap_or(device.linked_at), now)?;
    let call = |vendor: Arc<dyn Vendor>, linked| async move {
        vendor.metered(&linked, from, to, now).await
    };
    let periods = call_device(app, (device, "metered"), call).await.ok()?;
    if let Some(last) = periods.last() {
        let until = last.end;
        let period = |row: Metered| {
            let Metered { start, end, imported, exported } = row;
            MeteredPeriod { start, end, imported, exported }
        };
        let periods: Vec<MeteredPeriod> = periods.into_iter().map(period).collect();
        return Some((from_periods(&periods, counts, rules).samples, Some(until)));
    }
    // No meter: the counter, from reading to reading.
    let counted = counted?;
    // Not the time of this reading: a manufacturer may go back to an earlier one.
    let until = counted.last()?.0;
    let readings = counted.into_iter().map(|(at, total)| MeterReading::new(at, total));
    let readings: Vec<MeterReading> = readings.collect::<Result<_, _>>().ok()?;
    let samples = from_meter(&readings, rules).samples;
    (readings.len() > 1).then_some((samples, Some(until)))
}

/// Samples with their prices, by the session and the place that they belong to.
fn parts(
    app: &App,
    device: &Device,
    sessions: &[ChargeSession],
    samples: &[Sample],
) -> Vec<(Measured, Option<Uuid>, Vec<Sample>)> {
    let stays: Vec<_> = sessions.iter().map(|session| session.stay).collect();
    let here = measured(app, device);
    let mut parts = Vec::new();
    for own in samples.chunk_by(|one, next| stay_of(&stays, one) == stay_of(&stays, next)) {
        let session = stay_of(&stays, &own[0]).map(|index| &sessions[index]);
        let measured = session.map_or_else(|| here.clone(), |session| session.measured.clone());
        let (from, to) = (own[0].start, own[own.len() - 1].end);
        let whose = (measured.client_id.as_str(), measured.user_id.as_str());
        let prices = prices_at(app, measured.location_id, whose, from, to);
        parts.push((measured, session.map(|session| session.id), with_prices(own, &prices)));
    }
    parts
}
