//! Plans as JSON text: saved, loaded, replayed and compared.
use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{Formatter, Serializer};
use slackwater_engine::plan::questions::estimates_in;
use slackwater_engine::plan::record as engine;
use slackwater_engine::plan::record::{
    ENGINE_VERSION, EmissionPrice, PriceSources, Recorded, SavedPlan, TIME_ZONE_VERSION, ValueTree,
};
use slackwater_engine::prices::curve::PriceCurve;
use slackwater_engine::prices::layers::LayeredPrices;

use crate::capacity::CapacityPlan;
use crate::charged::Charged;
use crate::error::Refused;
use crate::evaluate::AnyPlan;
use crate::heat::HeatPlan;
use crate::plan::Plan;
use crate::prices::Prices;
use crate::site::SitePlan;
use crate::storage::StoragePlan;
use crate::switching::SwitchingPlan;

/// A value in one place of a saved plan.
#[derive(Debug, Clone, PartialEq, FromPyObject, IntoPyObject, IntoPyObjectRef)]
pub(crate) enum Value {
    Truth(bool),
    Number(f64),
    Text(String),
}

record! {
    /// One place in which two saved plans differ.
    pub(crate) struct Difference {
        /// Place in the saved plan, such as `plan.cost`; entries of a list are named by their
        /// start.
        path: String,
        /// Value in the first plan; `None` if it has none there.
        before: Option<Value>,
        /// Value in the second plan; `None` if it has none there.
        after: Option<Value>,
    }

    /// Result of planning a saved plan again.
    pub(crate) struct Replay {
        /// True if the new plan is the saved one, byte by byte.
        same: bool,
        /// Each place in which the two differ; empty if they are the same.
        differences: Vec<Difference>,
        /// Kind of the plan, such as `charge`, `vehicle` or `site`.
        kind: String,
        /// Version of the engine that made the saved plan.
        engine_version: String,
        /// Version of the engine that planned it again.
        engine_version_now: String,
        /// Edition of the time zone tables of the saved plan.
        time_zone_version: String,
        /// Edition of the time zone tables of this engine.
        time_zone_version_now: String,
    }
}

/// Facts about its prices that a plan keeps beside their curves.
#[derive(Debug, Clone)]
pub(crate) struct Terms {
    currency: Arc<str>,
    layers: PriceSources,
    /// Price of emissions within the prices to buy at.
    emissions: Option<EmissionPrice>,
}

impl Terms {
    /// The terms of prices to buy at, and to sell at.
    pub(crate) fn new(prices: &Prices, export: Option<&Prices>) -> Self {
        let export = export.and_then(|export| export.layers.clone());
        let layers = PriceSources { import: prices.layers.clone(), export };
        Self { currency: prices.currency.clone(), layers, emissions: prices.emissions.clone() }
    }

    /// Name of the currency of the prices.
    pub(crate) fn currency(&self) -> &str {
        &self.currency
    }

    /// Prices to buy at.
    pub(crate) fn import(&self, curve: impl Into<Arc<PriceCurve>>) -> Prices {
        let (layers, emissions) = (self.layers.import.clone(), self.emissions.clone());
        Prices { layers, emissions, ..Prices::new(curve, self.currency.clone()) }
    }

    /// Prices to sell at.
    pub(crate) fn export(&self, curve: impl Into<Arc<PriceCurve>>) -> Prices {
        let layers = self.layers.export.clone();
        Prices { layers, ..Prices::new(curve, self.currency.clone()) }
    }

    /// The sentence of a purchase, followed by the estimates that it rests on.
    pub(crate) fn tell_bought(&self, sentence: String, period: Period) -> String {
        tell_estimates(sentence, [&self.layers.import], period)
    }

    /// The sentence of a sale, followed by the estimates that it rests on.
    pub(crate) fn tell_sold(&self, sentence: String, period: Period) -> String {
        tell_estimates(sentence, [&self.layers.export], period)
    }

    /// A sentence that rests on prices of both kinds, followed by the estimates among them.
    pub(crate) fn tell_both(&self, sentence: String, period: Period) -> String {
        tell_estimates(sentence, [&self.layers.import, &self.layers.export], period)
    }

    /// The text of a saved plan.
    pub(crate) fn to_json(&self, recorded: impl Into<Recorded>) -> String {
        let bundle = SavedPlan::new(&*self.currency, recorded);
        let layered = bundle.with_layers(self.layers.clone());
        let mut bundle = layered.expect("prices are what their layers make");
        if let Some(emissions) = &self.emissions {
            let priced = bundle.with_emissions(emissions.clone());
            bundle = priced.expect("the intensity is known wherever a price was added");
        }
        text_of(&bundle)
    }
}

/// First instant, and first instant after it.
type Period = (DateTime<Utc>, DateTime<Utc>);

/// A sentence, followed by the estimates among the prices of a period.
pub(crate) fn tell_estimates<'a>(
    sentence: String,
    layers: impl IntoIterator<Item = &'a Option<Arc<LayeredPrices>>>,
    period: Period,
) -> String {
    match layers.into_iter().flatten().find_map(|layers| estimates_in(layers, period)) {
        Some(estimates) => format!("{sentence} {estimates}"),
        None => sentence,
    }
}

/// Reads the text of a saved plan of any kind.
///
/// Each kind of plan has one arm here, which makes its Python class.
#[pyfunction]
pub(crate) fn plan_from_json(py: Python<'_>, text: &str) -> Result<Py<PyAny>, Refused> {
    let bundle = py.detach(|| bundle_of(text))?;
    let SavedPlan { currency, layers, emissions, recorded, .. } = bundle;
    let terms = Terms { currency: currency.into(), layers, emissions };
    let charging = |run: Charged| Ok(Py::new(py, Plan::new(run, terms.clone()))?.into_any());
    match recorded {
        Recorded::Charge(run) => charging(Charged::Charge(*run)),
        Recorded::Vehicle(run) => charging(Charged::Vehicle(*run)),
        Recorded::Duration(run) => charging(Charged::Duration(*run)),
        Recorded::Kept(run) => charging(Charged::Kept(*run)),
        Recorded::Storage(run) => Ok(Py::new(py, StoragePlan::new(*run, terms))?.into_any()),
        Recorded::Heat(run) => Ok(Py::new(py, HeatPlan::new(*run, terms))?.into_any()),
        Recorded::Switching(run) => Ok(Py::new(py, SwitchingPlan::new(*run, terms))?.into_any()),
        Recorded::Site(run) => Ok(Py::new(py, SitePlan::new(*run, terms))?.into_any()),
        Recorded::Capacity(run) => Ok(Py::new(py, CapacityPlan::new(*run, terms))?.into_any()),
    }
}

/// Writes a plan of any kind as text.
#[pyfunction]
pub(crate) fn plan_to_json(py: Python<'_>, plan: AnyPlan<'_>) -> String {
    match plan {
        AnyPlan::Charge(plan) => detached(py, &*plan, Plan::to_json),
        AnyPlan::Storage(plan) => detached(py, &*plan, StoragePlan::to_json),
        AnyPlan::Heat(plan) => detached(py, &*plan, HeatPlan::to_json),
        AnyPlan::Switching(plan) => detached(py, &*plan, SwitchingPlan::to_json),
        AnyPlan::Site(plan) => detached(py, &*plan, SitePlan::to_json),
        AnyPlan::Capacity(plan) => detached(py, &*plan, CapacityPlan::to_json),
    }
}

/// Writes a plan without the interpreter lock.
fn detached<P: Sync>(py: Python<'_>, plan: &P, write: fn(&P) -> String) -> String {
    py.detach(|| write(plan))
}

/// Plans the text of a saved plan again.
#[pyfunction]
pub(crate) fn replay(py: Python<'_>, text: &str) -> Result<Replay, Refused> {
    py.detach(|| {
        let bundle = bundle_of(text)?;
        let (saved, again) = (text_of(&bundle), text_of(&bundle.replan()?));
        Ok(Replay {
            same: saved == again,
            differences: differences(&saved, &again)?,
            kind: bundle.recorded.kind().to_owned(),
            engine_version: bundle.engine_version,
            engine_version_now: ENGINE_VERSION.to_owned(),
            time_zone_version: bundle.time_zone_version,
            time_zone_version_now: TIME_ZONE_VERSION.to_owned(),
        })
    })
}

/// Lists what differs between the texts of two saved plans.
#[pyfunction]
pub(crate) fn saved_differences(
    py: Python<'_>,
    before: &str,
    after: &str,
) -> Result<Vec<Difference>, Refused> {
    py.detach(|| differences(&text_of(&bundle_of(before)?), &text_of(&bundle_of(after)?)))
}

fn differences(before: &str, after: &str) -> Result<Vec<Difference>, Refused> {
    let changes = engine::changes(&parse(before)?, &parse(after)?);
    Ok(changes
        .into_iter()
        .map(|change| Difference {
            path: short(&change.path).to_owned(),
            before: change.before.and_then(value),
            after: change.after.and_then(value),
        })
        .collect())
}

/// A place without the names of what it is wrapped in.
fn short(path: &str) -> &str {
    let inner = path.strip_prefix("recorded.").unwrap_or(path);
    inner.strip_prefix("run.").unwrap_or(inner)
}

fn value(document: ValueTree) -> Option<Value> {
    match document {
        ValueTree::Nothing => None,
        ValueTree::Truth(truth) => Some(Value::Truth(truth)),
        ValueTree::Number(number) => Some(Value::Number(number)),
        ValueTree::Text(text) => Some(Value::Text(text)),
        tree => Some(Value::Text(tree.to_string())),
    }
}

fn bundle_of(text: &str) -> Result<SavedPlan, Refused> {
    let document: ValueTree = parse(text)?;
    if document.field("format").is_none() {
        let text = "this is no saved plan: it has no field format; save a plan with Plan.save";
        return Err(Refused::Input(text.into()));
    }
    let bundle = parse(text).map_err(|error| match (error, document.field("engine_version")) {
        (Refused::Input(text), Some(ValueTree::Text(version))) if version != ENGINE_VERSION => {
            Refused::Input(format!(
                "{text}; the file is of engine {version}, this is {ENGINE_VERSION}"
            ))
        }
        (error, _) => error,
    })?;
    document.check_times()?;
    Ok(bundle)
}

/// A value from JSON; an error names the place in it.
fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Refused> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        if path == "." {
            Refused::Input(error.into_inner().to_string())
        } else {
            Refused::argument(&path, error.into_inner())
        }
    })?;
    reader.end().map_err(|error| Refused::Input(error.to_string()))?;
    Ok(value)
}

fn text_of(bundle: &SavedPlan) -> String {
    let mut bytes = Vec::new();
    bundle
        .serialize(&mut Serializer::with_formatter(&mut bytes, Lines::default()))
        .expect("names are texts and numbers are finite, and memory takes any bytes");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("JSON is UTF-8")
}

/// One line for each field, and one for each entry of a list.
#[derive(Debug, Default)]
struct Lines {
    /// Brackets around that have a line for each of their entries.
    depth: usize,
    /// Whether the innermost of these is a list: its entries stay on one line.
    in_list: bool,
    /// Brackets around, inside an entry of a list.
    inside: usize,
    /// Whether the innermost brackets hold something.
    filled: bool,
}

impl Lines {
    fn open<W: io::Write + ?Sized>(&mut self, to: &mut W, list: bool) -> io::Result<()> {
        self.filled = false;
        if self.in_list {
            self.inside += 1;
        } else {
            self.depth += 1;
            self.in_list = list;
        }
        to.write_all(if list { b"[" } else { b"{" })
    }

    fn close<W: io::Write + ?Sized>(&mut self, to: &mut W, list: bool) -> io::Result<()> {
        if self.inside > 0 {
            self.inside -= 1;
        } else {
            // What is around has lines, so it is no list.
            self.in_list = false;
            self.depth -= 1;
            if self.filled {
                self.line(to)?;
            }
        }
        self.filled = true;
        to.write_all(if list { b"]" } else { b"}" })
    }

    fn next<W: io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        match (self.inside > 0, first) {
            (false, _) => self.line(to),
            (true, true) => Ok(()),
            (true, false) => to.write_all(b" "),
        }
    }

    fn line<W: io::Write + ?Sized>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| to.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, true)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, true)
    }

    fn begin_array_value<W: io::Write + ?Sized>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open(to, false)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to, false)
    }

    fn begin_object_key<W: io::Write + ?Sized>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.filled = true;
        Ok(())
    }
}
