//! Saved run: a plan with all of its inputs, so that it can be planned again.
//!
//! A [`SavedPlan`] is the content of a file: prices and request to the last bit, the plan, and the
//! versions of all that can change a plan. Planning it again gives the same bytes, or shows where
//! another engine gives another plan. Text is read and written by the callers of this module.
//!
//! A new planner needs an implementation of [`Replay`] for its request and one line in the list at
//! [`Recorded`].
use std::fmt::Debug;
use std::sync::Arc;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[cfg(feature = "lp")]
use crate::plan::capacity::request::CapacityRequest;
use crate::plan::charge::duration::DurationRequest;
use crate::plan::charge::greedy::plan_charge;
use crate::plan::charge::plan::Plan;
use crate::plan::charge::request::{ChargeProblem, ChargeRequest};
use crate::plan::charge::vehicle::VehicleRequest;
use crate::plan::heat::request::HeatRequest;
use crate::plan::record::emission_price::EmissionPrice;
use crate::plan::record::price_sources::{PriceCurves, PriceSources, PriceSourcesError};
use crate::plan::record::refused_request::RefusedRequest;
use crate::plan::record::saved_plan_error::{SavedPlanError, check_plan};
use crate::plan::record::steady_request::{SteadyProblem, SteadyRequest};
#[cfg(feature = "lp")]
use crate::plan::site::request::SiteRequest;
use crate::plan::stability::stay_close::{SteadyPlan, plan_close_to};
use crate::plan::storage::request::StorageRequest;
use crate::plan::switching::request::SwitchingRequest;
use crate::prices::combine::CombineError;
use crate::prices::curve::PriceCurve;

/// Version of this engine.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");

/// Version of the time zone tables that this engine was built with.
pub const TIME_ZONE_VERSION: &str = chrono_tz::IANA_TZDB_VERSION;

/// Request of a planner whose runs can be saved and planned again.
pub trait Replay: Debug + Clone + PartialEq + Serialize + DeserializeOwned {
    /// Prices of the planner: one curve, or several.
    type Prices: Debug + Clone + PartialEq + Serialize + DeserializeOwned;
    /// The checked request.
    type Problem<'a>;
    /// The plan.
    type Plan: Debug + Clone + PartialEq + Serialize + DeserializeOwned;

    /// Checks the request, also against the prices.
    ///
    /// # Errors
    /// The request is invalid, or cannot be planned at these prices.
    fn problem<'a>(&self, prices: &'a Self::Prices) -> Result<Self::Problem<'a>, RefusedRequest>;

    /// Plans the request.
    ///
    /// # Errors
    /// Only while planning it shows that the request cannot be planned.
    fn plan(
        prices: &Self::Prices,
        problem: &Self::Problem<'_>,
    ) -> Result<Self::Plan, RefusedRequest>;

    /// Checks that all positions in a plan from a file exist and that its parts fit
    /// together. It does not check that the plan is the one of the request.
    ///
    /// # Errors
    /// The parts of the plan do not fit together.
    fn check(&self, plan: &Self::Plan) -> Result<(), SavedPlanError>;

    /// Price curves of the run.
    fn curves<'a>(&'a self, prices: &'a Self::Prices) -> PriceCurves<'a>;
}

/// Prices and request of a planner with the plan that it made of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts<R>", bound = "")]
pub struct SavedRun<R: Replay> {
    prices: R::Prices,
    request: R,
    plan: R::Plan,
}

/// Run from a file, not checked yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "")]
struct Parts<R: Replay> {
    prices: R::Prices,
    request: R,
    plan: R::Plan,
}

/// Reason why the parts of a run from a file do not fit together.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedRunError {
    /// The request is invalid, or does not fit the prices.
    #[error("request: {0}")]
    Request(#[from] RefusedRequest),
    /// The parts of the plan do not fit together, or the plan does not fit the request.
    #[error("plan: {0}")]
    Plan(#[from] SavedPlanError),
}

impl<R: Replay> TryFrom<Parts<R>> for SavedRun<R> {
    type Error = SavedRunError;
    fn try_from(parts: Parts<R>) -> Result<Self, SavedRunError> {
        let Parts { prices, request, plan } = parts;
        request.problem(&prices)?;
        // The parts must fit together; whether the engine makes this plan again is another
        // question.
        request.check(&plan)?;
        Ok(Self { prices, request, plan })
    }
}

impl<R: Replay> SavedRun<R> {
    /// Plans a request and makes a run of it.
    ///
    /// # Errors
    /// The request is invalid, or cannot be planned at these prices.
    pub fn new(prices: R::Prices, request: R) -> Result<Self, RefusedRequest> {
        let plan = R::plan(&prices, &request.problem(&prices)?)?;
        Ok(Self { prices, request, plan })
    }

    /// Plans a request with a planner of the caller, for instance one with a time
    /// limit, and makes a run of it.
    ///
    /// # Errors
    /// The request is invalid, or cannot be planned at these prices.
    pub fn planned_by(
        prices: R::Prices,
        request: R,
        planner: impl FnOnce(&R::Prices, &R::Problem<'_>) -> R::Plan,
    ) -> Result<Self, RefusedRequest> {
        let plan = planner(&prices, &request.problem(&prices)?);
        Ok(Self { prices, request, plan })
    }

    /// The prices.
    #[must_use]
    pub fn prices(&self) -> &R::Prices {
        &self.prices
    }

    /// The request.
    #[must_use]
    pub fn request(&self) -> &R {
        &self.request
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &R::Plan {
        &self.plan
    }

    /// Price curves of the run.
    #[must_use]
    pub fn curves(&self) -> PriceCurves<'_> {
        self.request.curves(&self.prices)
    }

    /// Plans prices and request again with this engine.
    ///
    /// # Errors
    /// Only while planning it shows that the request cannot be planned.
    pub fn replan(&self) -> Result<Self, RefusedRequest> {
        Self::new(self.prices.clone(), self.request.clone())
    }
}

/// Defines [`Recorded`] from one line for each planner: name in files, variant and request.
macro_rules! recorded {
    ($($(#[$doc:meta])* $kind:literal: $variant:ident($request:ty) $(if $feature:literal)?,)*) => {
        /// Saved run of any planner.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", content = "run", deny_unknown_fields)]
        pub enum Recorded {$(
            $(#[$doc])*
            $(#[cfg(feature = $feature)])?
            #[serde(rename = $kind)]
            $variant(Box<SavedRun<$request>>),
        )*}

        impl Recorded {
            /// Name of the kind of plan, as in files.
            #[must_use]
            pub fn kind(&self) -> &'static str {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(_) => $kind,)*
                }
            }

            /// Plans the inputs again with this engine.
            ///
            /// # Errors
            /// As [`SavedRun::replan`].
            pub fn replan(&self) -> Result<Self, RefusedRequest> {
                match self {
                    $(
                        $(#[cfg(feature = $feature)])?
                        Self::$variant(run) => run.replan().map(Self::from),
                    )*
                }
            }

            /// Price curves of the run.
            #[must_use]
            pub fn curves(&self) -> PriceCurves<'_> {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$variant(run) => run.curves(),)*
                }
            }
        }

        $($(#[cfg(feature = $feature)])? impl From<SavedRun<$request>> for Recorded {
            fn from(run: SavedRun<$request>) -> Self {
                Self::$variant(run.into())
            }
        })*
    };
}

recorded! {
    /// A vehicle with a request in kWh.
    "charge": Charge(ChargeRequest),
    /// A vehicle with a request in percent of its battery.
    "vehicle": Vehicle(VehicleRequest),
    /// A device with a request in hours.
    "duration": Duration(DurationRequest),
    /// A plan that stays close to a previous one.
    "kept": Kept(SteadyRequest),
    /// A battery that charges and discharges.
    "storage": Storage(StorageRequest),
    /// A room or tank.
    "heat": Heat(HeatRequest),
    /// A switching device.
    "switching": Switching(SwitchingRequest),
    /// A site: all devices behind one meter.
    "site": Site(SiteRequest) if "lp",
    /// A battery under a tariff with a price of power.
    "capacity": Capacity(CapacityRequest) if "lp",
}

impl Replay for SteadyRequest {
    type Prices = Arc<PriceCurve>;
    type Problem<'a> = SteadyProblem;
    type Plan = SteadyPlan;

    fn problem(&self, _: &Arc<PriceCurve>) -> Result<SteadyProblem, RefusedRequest> {
        // The previous plan can come from a file, so its parts are checked as well.
        check_plan(&self.previous)?;
        let (previous, budget) = (self.previous.clone(), self.budget);
        Ok(SteadyProblem { problem: self.wish.problem()?, previous, budget })
    }

    fn plan(prices: &Arc<PriceCurve>, kept: &SteadyProblem) -> Result<SteadyPlan, RefusedRequest> {
        Ok(plan_close_to(prices, &kept.problem, &kept.previous, kept.budget))
    }

    fn check(&self, steady: &SteadyPlan) -> Result<(), SavedPlanError> {
        check_plan(&steady.plan)
    }

    fn curves<'a>(&'a self, prices: &'a Arc<PriceCurve>) -> PriceCurves<'a> {
        PriceCurves { import: prices, export: None }
    }
}

/// Implements [`Replay`] for the requests of the charging planner, each with its conversion to a
/// request in kWh.
macro_rules! charging {
    ($($request:ty: $in_energy:expr,)*) => {$(
        impl Replay for $request {
            type Prices = Arc<PriceCurve>;
            type Problem<'a> = ChargeProblem;
            type Plan = Plan;

            fn problem(&self, _: &Arc<PriceCurve>) -> Result<ChargeProblem, RefusedRequest> {
                Ok(ChargeProblem::new($in_energy(self)?)?)
            }

            fn plan(
                prices: &Arc<PriceCurve>,
                problem: &ChargeProblem,
            ) -> Result<Plan, RefusedRequest> {
                Ok(plan_charge(prices, problem))
            }

            fn check(&self, plan: &Plan) -> Result<(), SavedPlanError> {
                check_plan(plan)
            }

            fn curves<'a>(&'a self, prices: &'a Arc<PriceCurve>) -> PriceCurves<'a> {
                PriceCurves { import: prices, export: None }
            }
        }
    )*};
}

charging! {
    ChargeRequest: |request: &Self| Ok::<_, RefusedRequest>(request.clone()),
    VehicleRequest: Self::in_energy,
    DurationRequest: Self::in_energy,
}

/// Format of a file, its first field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// A saved plan.
    #[serde(rename = "slackwater_plan")]
    SlackwaterPlan,
}

/// Version of the layout of a file. It changes when an older engine could
/// misread a newer file, or a newer engine can no longer read an older one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct FormatVersion(u32);

/// Error of a file with an unknown version of the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{version} is not known; this engine reads version 1")]
#[non_exhaustive]
pub struct UnknownVersion {
    /// The version as given.
    pub version: u32,
}

impl TryFrom<u32> for FormatVersion {
    type Error = UnknownVersion;
    fn try_from(version: u32) -> Result<Self, UnknownVersion> {
        if version == 1 { Ok(Self(version)) } else { Err(UnknownVersion { version }) }
    }
}

impl From<FormatVersion> for u32 {
    fn from(version: FormatVersion) -> Self {
        version.0
    }
}

/// Saved plan of any kind, with the versions of the software that made it.
///
/// # Example
///
/// A plan that is saved, read and planned again is equal to the last bit.
///
/// ```
/// use slackwater_engine::plan::charge::{ChargeRequest, Target};
/// use slackwater_engine::plan::record::{SavedPlan, SavedRun};
/// use slackwater_engine::prices::curve::{PriceCurve, Slot};
/// use slackwater_engine::units::{kw, kwh, per_kwh};
///
/// let start = "2026-01-05T18:00:00Z".parse().unwrap();
/// let end = "2026-01-05T19:00:00Z".parse().unwrap();
/// let prices = PriceCurve::new(&[Slot { start, end, price: per_kwh(0.30) }])?;
/// let request = ChargeRequest::new(start, kw(11.0), Target { by: None, energy: kwh(5.0) });
///
/// let bundle = SavedPlan::new("EUR", SavedRun::new(prices.into(), request)?);
/// let text = serde_json::to_string(&bundle)?;
/// let read: SavedPlan = serde_json::from_str(&text)?;
/// assert_eq!(serde_json::to_string(&read.replan()?)?, text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(remote = "Self")]
pub struct SavedPlan {
    /// Format of the file. It is the first field, so that the error for another
    /// file names its format.
    pub format: Format,
    /// Version of the layout.
    pub format_version: FormatVersion,
    /// Version of the engine that made the plan.
    pub engine_version: String,
    /// Version of the time zone tables of that engine.
    pub time_zone_version: String,
    /// Currency of all prices and amounts.
    pub currency: String,
    /// Layers of the prices, where they are known.
    #[serde(default, skip_serializing_if = "PriceSources::is_empty")]
    pub layers: PriceSources,
    /// Price of emissions within the prices to buy at, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emissions: Option<EmissionPrice>,
    /// Inputs and plan.
    pub recorded: Recorded,
}

impl Serialize for SavedPlan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The inherent function that `remote` derives, and not this one.
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for SavedPlan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bundle = Self::deserialize(deserializer)?;
        // A file passes the same check as `with_layers`.
        let curves = bundle.recorded.curves();
        bundle.layers.check(curves).map_err(D::Error::custom)?;
        if let Some(emissions) = &bundle.emissions {
            emissions
                .check(curves.import)
                .map_err(|error| D::Error::custom(format_args!("emissions: {error}")))?;
        }
        Ok(bundle)
    }
}

impl SavedPlan {
    /// A saved plan of this engine, without layers.
    pub fn new(currency: impl Into<String>, recorded: impl Into<Recorded>) -> Self {
        Self {
            format: Format::SlackwaterPlan,
            format_version: FormatVersion(1),
            engine_version: ENGINE_VERSION.to_owned(),
            time_zone_version: TIME_ZONE_VERSION.to_owned(),
            currency: currency.into(),
            layers: PriceSources::default(),
            emissions: None,
            recorded: recorded.into(),
        }
    }

    /// Adds the layers of the prices.
    ///
    /// # Errors
    /// The layers give other prices than those of the plan.
    pub fn with_layers(self, layers: PriceSources) -> Result<Self, PriceSourcesError> {
        layers.check(self.recorded.curves())?;
        Ok(Self { layers, ..self })
    }

    /// Adds the price of emissions that the prices hold.
    ///
    /// # Errors
    /// The intensity is missing at a time that has a price.
    pub fn with_emissions(self, emissions: EmissionPrice) -> Result<Self, CombineError> {
        emissions.check(self.recorded.curves().import)?;
        Ok(Self { emissions: Some(emissions), ..self })
    }

    /// Plans the inputs again with this engine. The versions stay, so that only the
    /// plan can differ.
    ///
    /// # Errors
    /// As [`SavedRun::replan`].
    pub fn replan(&self) -> Result<Self, RefusedRequest> {
        Ok(Self { recorded: self.recorded.replan()?, ..self.clone() })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use chrono::{DateTime, TimeDelta, Utc};
    use proptest::prelude::*;

    use super::*;
    use crate::plan::charge::plan::Purpose;
    use crate::plan::charge::request::{AfterDeadline, PowerLimit, Target};
    use crate::plan::charge::vehicle::{Battery, SocTarget};
    use crate::prices::curve::tests::curve_of;
    use crate::prices::layers::{Layer, LayeredPrices, Standing};
    use crate::time::horizon::Horizon;
    use crate::units::{Energy, kw, kwh, percent};

    fn six() -> DateTime<Utc> {
        "2026-01-05T18:00:00Z".parse().unwrap()
    }

    fn in_kwh(targets: &[(i64, f64)], power: f64) -> ChargeRequest {
        let target = |&(minute, energy)| Target {
            by: Some(six() + TimeDelta::minutes(minute)),
            energy: kwh(energy),
        };
        let mut request =
            ChargeRequest::new(six(), kw(power), Target { by: None, energy: kwh(0.0) });
        request.targets = targets.iter().map(target).collect();
        request
    }

    fn in_percent(soc: f64, wanted: f64) -> VehicleRequest {
        VehicleRequest {
            now: six(),
            until: None,
            power_max: kw(7.4),
            power_limits: Vec::new(),
            battery: Battery {
                capacity: kwh(61.7),
                soc: Some(percent(soc)),
                soc_fallback: None,
                charge_limit: percent(90.0),
                efficiency: 0.93,
            },
            targets: vec![SocTarget { by: None, soc: Some(percent(wanted)) }],
            reserve: percent(15.0),
            fill_when_negative: true,
            after_deadline: AfterDeadline::Stop,
        }
    }

    fn evening_run() -> SavedRun<ChargeRequest> {
        SavedRun::new(Arc::new(curve_of(60, &[30, 10, 20])), in_kwh(&[(180, 10.0)], 7.0)).unwrap()
    }

    fn evening() -> SavedPlan {
        SavedPlan::new("EUR", evening_run())
    }

    pub(crate) fn text_of(bundle: &SavedPlan) -> String {
        serde_json::to_string(bundle).unwrap()
    }

    /// Error for the text of a valid saved plan in which `from` is replaced by `to`.
    #[track_caller]
    fn refusal(from: &str, to: &str) -> String {
        let text = text_of(&evening());
        assert!(text.contains(from), "{text}");
        let error = serde_json::from_str::<SavedPlan>(&text.replacen(from, to, 1)).unwrap_err();
        error.to_string().split(" at line").next().unwrap().to_owned()
    }

    #[test]
    fn another_file_is_refused_for_what_it_is() {
        assert_eq!(
            refusal("slackwater_plan", "recipe"),
            "unknown variant `recipe`, expected `slackwater_plan`"
        );
        assert_eq!(
            refusal(r#""format_version":1"#, r#""format_version":2"#),
            "2 is not known; this engine reads version 1"
        );
        assert!(
            refusal(r#""kind":"charge""#, r#""kind":"dream""#)
                .starts_with("unknown variant `dream`, expected one of `charge`, `vehicle`,")
        );
        assert!(refusal(r#""currency""#, r#""money""#).starts_with("unknown field `money`"));
    }

    #[test]
    fn a_request_that_makes_no_sense_is_refused() {
        assert_eq!(
            refusal(
                r#""power_max_kw":7.0,"power_limits""#,
                r#""power_max_kw":-7.0,"power_limits""#
            ),
            "request: power_max_kw is -7 kW; a vehicle that only charges needs 0 kW or more"
        );
    }

    #[test]
    fn a_plan_whose_parts_do_not_fit_is_refused() {
        assert_eq!(
            refusal(r#""slot":1,"#, r#""slot":3,"#),
            "plan: purchases[0].slot is 3; the plan has 3 slots"
        );
        assert_eq!(
            refusal(r#""target":0"#, r#""target":1"#),
            "plan: purchases[0].target is 1; the plan has 1 targets"
        );
        assert_eq!(
            refusal(r#""energy_kwh":7.0}"#, r#""energy_kwh":-7.0}"#),
            "plan: slots[1] has -7 kWh at 7 kW; both are 0 or more"
        );
        assert_eq!(
            refusal(r#""energy_kwh":7.0,"reason""#, r#""energy_kwh":-7.0,"reason""#),
            "plan: purchases[0].energy_kwh is -7 kWh; it is 0 kWh or more"
        );
        assert!(
            refusal(r#""slots":[{"start":"2026-01-05T18"#, r#""slots":[{"start":"2026-01-05T21"#)
                .starts_with("plan: slots: slot 0 ends at")
        );
        assert!(
            refusal(
                r#"intervals":[{"start":"2026-01-05T19"#,
                r#"intervals":[{"start":"2026-01-05T22"#
            )
            .starts_with("plan: intervals: slot 0 ends at")
        );
        assert_eq!(
            refusal(r#""end":"2026-01-05T20:25:42.857143Z""#, r#""end":"2026-01-05T21:25:00Z""#),
            "plan: intervals[0] is outside of the slots"
        );
    }

    #[test]
    fn energy_kept_for_a_target_that_does_not_exist_is_refused() {
        let mut plan = evening_run().plan;
        plan.purchases[0].purpose = Purpose::Kept { target: 0 };
        assert_eq!(check_plan(&plan), Ok(()));
        plan.purchases[0].purpose = Purpose::Kept { target: 1 };
        let flaw = check_plan(&plan).unwrap_err().to_string();
        assert_eq!(flaw, "purchases[0].target is 1; the plan has 1 targets");
    }

    #[test]
    fn fields_may_come_in_any_order() {
        let text = text_of(&evening());
        let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The fields of a tree are sorted: the plan comes ahead of its prices.
        assert!(tree.to_string().contains(r#"{"kind":"charge","run":{"plan""#));
        let read: SavedPlan = serde_json::from_str(&tree.to_string()).unwrap();
        assert_eq!(text_of(&read), text);
    }

    fn layers(cents: &[i32]) -> PriceSources {
        let layer = |source: &str, standing, cents: &[i32]| Layer {
            source: source.to_owned(),
            standing,
            ceiling: None,
            curve: curve_of(60, cents),
        };
        let layers = vec![
            layer("market", Standing::Known, &cents[..1]),
            layer("guess", Standing::Estimate, cents),
        ];
        let import = Some(Arc::new(LayeredPrices::new(layers).unwrap()));
        PriceSources { import, export: None }
    }

    #[test]
    fn layers_are_kept_and_must_make_the_prices() {
        let bundle = evening().with_layers(layers(&[30, 10, 20])).unwrap();
        assert_replays(&bundle).unwrap();
        let text = text_of(&bundle);
        let read: SavedPlan = serde_json::from_str(&text).unwrap();
        assert_eq!(read.layers, layers(&[30, 10, 20]));
        let flaw = "layers.import: they differ from the prices of the plan";
        let other = layers(&[30, 10, 21]);
        assert_eq!(evening().with_layers(other.clone()).unwrap_err().to_string(), flaw);
        let mixed = SavedPlan { layers: other, ..bundle };
        let error = serde_json::from_str::<SavedPlan>(&text_of(&mixed)).unwrap_err();
        assert!(error.to_string().starts_with(flaw), "{error}");
        // This plan has no export prices, so no layers fit them.
        let export = PriceSources { import: None, export: layers(&[30, 10, 20]).import };
        assert_eq!(evening().with_layers(export).unwrap_err().name, "export");
        assert!(!text_of(&evening()).contains("layers"));
    }

    #[test]
    fn emissions_are_kept_and_must_cover_the_prices() {
        let emissions = |grams: &[i32]| EmissionPrice::new(0.1, curve_of(60, grams)).unwrap();
        let bundle = evening().with_emissions(emissions(&[40, 30, 20])).unwrap();
        assert_replays(&bundle).unwrap();
        let read: SavedPlan = serde_json::from_str(&text_of(&bundle)).unwrap();
        assert_eq!(read.emissions, Some(emissions(&[40, 30, 20])));
        assert!(evening().with_emissions(emissions(&[40])).is_err());
        let short = SavedPlan { emissions: Some(emissions(&[40])), ..bundle };
        let error = serde_json::from_str::<SavedPlan>(&text_of(&short)).unwrap_err().to_string();
        assert!(error.starts_with("emissions: the intensity is missing from"), "{error}");
        assert!(!text_of(&evening()).contains("emissions"));
    }

    #[test]
    fn kinds_have_names() {
        let curve = Arc::new(curve_of(60, &[30, 10, 20]));
        let duration = TimeDelta::minutes(90);
        let hours = DurationRequest { now: six(), duration, by: None, power: kw(1.0) };
        let kinds: [Recorded; 3] = [
            SavedRun::new(curve.clone(), in_kwh(&[], 7.0)).unwrap().into(),
            SavedRun::new(curve.clone(), in_percent(20.0, 80.0)).unwrap().into(),
            SavedRun::new(curve, hours).unwrap().into(),
        ];
        assert_eq!(kinds.each_ref().map(Recorded::kind), ["charge", "vehicle", "duration"]);
        for recorded in kinds {
            let text = serde_json::to_string(&recorded).unwrap();
            assert!(
                text.starts_with(&format!(r#"{{"kind":"{}","run":{{"prices""#, recorded.kind()))
            );
        }
    }

    /// Checks that saving, reading, planning again and saving gives the same bytes.
    pub(crate) fn assert_replays(bundle: &SavedPlan) -> Result<(), TestCaseError> {
        let text = text_of(bundle);
        let read: SavedPlan = serde_json::from_str(&text)
            .map_err(|error| TestCaseError::fail(format!("{error}: {text}")))?;
        prop_assert_eq!(&text_of(&read), &text);
        prop_assert_eq!(&text_of(&read.replan().unwrap()), &text);
        Ok(())
    }

    /// Numbers of any size, most of them in the usual range.
    fn amounts() -> impl Strategy<Value = f64> {
        prop_oneof![8 => 0.0..60.0, 1 => 0.0..1e12, 1 => Just(0.0), 1 => 1e-300..1e-3]
    }

    proptest! {
        #[test]
        fn any_plan_in_kwh_replays_to_the_byte(
            prices in prop::collection::vec(-1.0..1.0f64, 0..50),
            targets in prop::collection::vec((-60..1000i64, amounts()), 0..4),
            power in prop_oneof![9 => 0.0..22.0, 1 => 0.0..1e7],
            reserve in amounts(),
            room in prop::option::of(amounts()),
            limit in prop::option::of((0..500i64, 0.0..9.0f64)),
        ) {
            let steps = Horizon::steps(six(), TimeDelta::minutes(15), prices.len()).unwrap();
            let curve = Arc::new(PriceCurve::from_parts(steps, prices).unwrap());
            let mut request = in_kwh(&targets, power);
            request.reserve = kwh(reserve);
            let wanted = targets.iter().fold(reserve, |most, target| most.max(target.1));
            request.energy_max = room.map(|room| Energy::from_kwh(wanted + room).unwrap_or(kwh(1e12)));
            request.power_limits.extend(limit.map(|(minute, power)| PowerLimit {
                start: six() + TimeDelta::minutes(minute),
                end: six() + TimeDelta::minutes(minute + 40),
                power_max: kw(power),
            }));
            assert_replays(&SavedPlan::new("EUR", SavedRun::new(curve, request).unwrap()))?;
        }

        #[test]
        fn any_plan_in_percent_or_hours_replays_to_the_byte(
            cents in prop::collection::vec(-50..90i32, 0..40),
            soc in 0.0..=100.0f64,
            wanted in 0.0..=100.0f64,
            micros in 0..30_000_000_000i64,
            power in 0.0..1e4f64,
        ) {
            let curve = Arc::new(curve_of(30, &cents));
            let run = SavedRun::new(curve.clone(), in_percent(soc, wanted)).unwrap();
            assert_replays(&SavedPlan::new("NOK", run))?;
            let duration = TimeDelta::microseconds(micros);
            let hours = DurationRequest { now: six(), duration, by: None, power: kw(power) };
            assert_replays(&SavedPlan::new("NOK", SavedRun::new(curve, hours).unwrap()))?;
        }

        /// A changed price of a usable slot changes the plan.
        #[test]
        fn a_changed_price_is_noticed(
            cents in prop::collection::vec(-50..90i32, 1..40), at in any::<prop::sample::Index>(),
        ) {
            let run = |cents: &[i32]| {
                SavedRun::new(Arc::new(curve_of(30, cents)), in_kwh(&[(9999, 20.0)], 11.0)).unwrap()
            };
            let mut other = cents.clone();
            other[at.index(cents.len())] += 1;
            let mixed = SavedRun { prices: run(&other).prices, ..run(&cents) };
            let bundle = SavedPlan::new("EUR", mixed);
            prop_assert_ne!(text_of(&bundle.replan().unwrap()), text_of(&bundle));
        }
    }
}
