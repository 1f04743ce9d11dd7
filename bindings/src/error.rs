//! How an engine error becomes a Python exception.
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyType;
use slackwater_control::device::action_log::LogError;
use slackwater_control::device::hvac::ModeError;
use slackwater_control::device::override_log::OverrideLogError;
use slackwater_control::policy::flex_issue::FlexIssues;
use slackwater_control::policy::vehicle::VehiclePolicyError;
use slackwater_control::schedule::rule::RulesError;
use slackwater_engine::area::AreaError;
use slackwater_engine::area::scenarios::ScenarioError;
use slackwater_engine::bill::energy_prices::EnergyPriceError;
use slackwater_engine::bill::error::{BillError, LoadError, TariffFileError};
use slackwater_engine::bill::month::MonthError;
use slackwater_engine::import::civil_series::CivilSeriesError;
use slackwater_engine::import::driving_error::DrivingError;
use slackwater_engine::import::price_unit::PriceUnitError;
use slackwater_engine::import::series::SeriesError;
use slackwater_engine::plan::capacity::request::CapacityError;
use slackwater_engine::plan::charge::{ChargeRequestError, VehicleError};
use slackwater_engine::plan::heat::{HeatError, IdentifyError};
use slackwater_engine::plan::policy::{
    PolicyRequestError, PolicyStateError, RiskError, UncertainPricesError,
};
use slackwater_engine::plan::questions::{ChangeError, DepartureError};
use slackwater_engine::plan::record::{RefusedRequest, TimeError};
use slackwater_engine::plan::rolling_intrinsic::RollingIntrinsicError;
use slackwater_engine::plan::site::SiteError;
use slackwater_engine::plan::stability::BudgetError;
use slackwater_engine::plan::storage::StorageError;
use slackwater_engine::plan::switching::SwitchingError;
use slackwater_engine::prices::combine::CombineError;
use slackwater_engine::prices::curve::CurveError;
use slackwater_engine::prices::layers::LayerError;
use slackwater_engine::prices::signal::{SignalError, ZoneError};
use slackwater_engine::prices::tariff::{SpanError, TariffError};
use slackwater_engine::simulate::{FactsError, HomeError, LengthError};
use slackwater_engine::statistics::columns::ColumnError;
use slackwater_engine::statistics::hem::PeriodError;
use slackwater_engine::statistics::measurements::MeasurementError;
use slackwater_engine::statistics::range::RangeError;
use slackwater_engine::statistics::resolution::BucketError;
use slackwater_engine::statistics::sample::SampleError;
use slackwater_engine::statistics::savings::SessionError;
use slackwater_engine::time::horizon::HorizonError;
use slackwater_engine::units::UnitError;
use slackwater_wire::page::list::PageError;
use slackwater_wire::version::lifecycle::ReleasesError;
use slackwater_wire::version::shape::ShapeError;

create_exception!(
    slackwater,
    InputError,
    PyValueError,
    "An argument makes no sense. The message names the argument, its value and its unit."
);

create_exception!(
    slackwater,
    LookAheadError,
    InputError,
    "Something was used before it was known. The message names both instants."
);

/// Makes a `RuntimeError` of the exception that a panic becomes.
///
/// `PyO3` derives it from `BaseException`, which `except Exception` does not
/// catch, and tells the text of the panic alone. Every function and method of
/// the module raises it, so it is changed here, once, for all of them.
pub(crate) fn soften_panics(py: Python<'_>) -> PyResult<Bound<'_, PyType>> {
    let panic = py.get_type::<PanicException>();
    panic.setattr("__bases__", (py.get_type::<PyRuntimeError>(),))?;
    let text = py.eval(
        c"lambda panic: 'slackwater failed by a fault of its own; please report it: ' \
          + ' '.join(map(str, panic.args))",
        None,
        None,
    )?;
    panic.setattr("__str__", text)?;
    Ok(panic)
}

/// A refusal on its way to Python. `?` makes one from any engine error.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A value that makes no sense: becomes `InputError`.
    Input(String),
    /// An exception that Python raised.
    Python(PyErr),
}

impl Refused {
    /// A refusal that names the argument in front of what is wrong with it.
    pub(crate) fn argument(name: &str, error: impl std::fmt::Display) -> Self {
        Self::Input(format!("{name}: {error}"))
    }
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Input(text) => InputError::new_err(text),
            Refused::Python(error) => error,
        }
    }
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

macro_rules! refuse {
    ($($error:ty),*) => {$(
        impl From<$error> for Refused {
            fn from(error: $error) -> Self {
                Self::Input(error.to_string())
            }
        }
    )*};
}

refuse!(
    AreaError,
    BillError,
    CapacityError,
    BucketError,
    BudgetError,
    ChangeError,
    CivilSeriesError,
    ColumnError,
    CombineError,
    CurveError,
    DepartureError,
    DrivingError,
    EnergyPriceError,
    FactsError,
    FlexIssues,
    HeatError,
    HomeError,
    HorizonError,
    IdentifyError,
    LayerError,
    LengthError,
    LoadError,
    LogError,
    MeasurementError,
    ModeError,
    MonthError,
    OverrideLogError,
    PageError,
    PeriodError,
    PolicyRequestError,
    PolicyStateError,
    PriceUnitError,
    RangeError,
    RefusedRequest,
    ReleasesError,
    RiskError,
    RollingIntrinsicError,
    ChargeRequestError,
    RulesError,
    SampleError,
    ScenarioError,
    SessionError,
    ShapeError,
    SignalError,
    SiteError,
    SpanError,
    StorageError,
    SwitchingError,
    TariffError,
    TariffFileError,
    TimeError,
    UncertainPricesError,
    UnitError,
    VehicleError,
    VehiclePolicyError,
    ZoneError
);

impl From<SeriesError> for Refused {
    fn from(error: SeriesError) -> Self {
        let is_uneven = matches!(error, SeriesError::Uneven { .. });
        let ways_out = if is_uneven {
            ", step_minutes, or holds_until_next if a price holds until the next row"
        } else {
            ""
        };
        Self::Input(format!("{error}{ways_out}"))
    }
}

/// Names the argument in an engine error: `energy(value).named("energy_kwh")?`.
pub(crate) trait Named<T> {
    /// The value, or a refusal that names the argument.
    fn named(self, name: &str) -> Result<T, Refused>;
}

impl<T, E: std::fmt::Display> Named<T> for Result<T, E> {
    fn named(self, name: &str) -> Result<T, Refused> {
        self.map_err(|error| Refused::argument(name, error))
    }
}
