//! The input of an area: vehicles as columns, prices, and nodes with their limits.
use std::collections::BTreeMap;

use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use chrono::DateTime;
use pyo3::prelude::*;
use slackwater_engine::area::{
    AreaProblem, AreaVehicles, Limit, Node, PriceBlock, Profile, StorageColumns,
};
use slackwater_engine::columns::Curves;
use slackwater_engine::time::horizon::Horizon;
use slackwater_engine::units::{Power, Price};

use crate::arrow::{Columns, TableInput, refused};
use crate::batch::Vehicles;
use crate::error::{Named, Refused};
use crate::prices::{PriceCurves, Prices};
use crate::provenance::Estimates;
use crate::site_request::HeatUnitArgument;

/// Columns that an area honours on top of those of a batch.
const HONOURED: [&str; 9] = [
    "charge_limit_percent",
    "discharge_max_kw",
    "discharge_efficiency",
    "end_value_per_kwh",
    "fill_when_negative",
    "node",
    "power_min_kw",
    "priority",
    "wear_price_per_kwh",
];

/// A number for all slots, or one per slot.
#[derive(FromPyObject)]
pub(crate) enum ProfileArg {
    Constant(f64),
    PerSlot(Vec<Option<f64>>),
}

impl ProfileArg {
    pub(crate) fn profile(&self, name: &str) -> Result<Profile, Refused> {
        Ok(match self {
            Self::Constant(value) => Profile::Constant(Power::from_kw(*value).named(name)?),
            Self::PerSlot(values) => {
                let power = |value: &Option<f64>| value.map(Power::from_kw).transpose().named(name);
                Profile::PerSlot(values.iter().map(power).collect::<Result<_, _>>()?)
            }
        })
    }
}

/// A `slackwater.Node`, read by its attributes.
#[derive(FromPyObject)]
pub(crate) struct NodeArg {
    name: String,
    parent: Option<String>,
    base_kw: Option<ProfileArg>,
    limit_kw: Option<ProfileArg>,
    breach_price_per_kwh: Option<f64>,
    export_limit_kw: Option<ProfileArg>,
    export_breach_price_per_kwh: Option<f64>,
    peak_price_per_kw: Option<f64>,
    peak_incurred_kw: f64,
    blocks: Vec<(f64, f64)>,
    target_kw: Option<ProfileArg>,
    target_price_per_kwh: Option<f64>,
    target_square_price: Option<f64>,
}

impl NodeArg {
    fn node(&self, places: &BTreeMap<&str, usize>) -> Result<Node, Refused> {
        let parent = match &self.parent {
            None => None,
            Some(name) => Some(*places.get(name.as_str()).ok_or_else(|| {
                Refused::Input(format!("parent of node {:?} is {name:?}; no node", self.name))
            })?),
        };
        let name = self.name_field("base_kw");
        let base = self.base_kw.as_ref().map(|base| base.profile(&name)).transpose()?;
        Ok(Node { name: self.name.clone(), parent, base, limits: self.limits()? })
    }

    /// How a message names a field.
    fn name_field(&self, field: &str) -> String {
        format!("{field} of node {:?}", self.name)
    }

    fn limits(&self) -> Result<Vec<Limit>, Refused> {
        let price = |price: Option<f64>, field: &str| {
            price.map(Price::from_per_kwh).transpose().named(&self.name_field(field))
        };
        let mut limits = Vec::new();
        if let Some(limit) = &self.limit_kw {
            let power_max = limit.profile(&self.name_field("limit_kw"))?;
            let price = price(self.breach_price_per_kwh, "breach_price_per_kwh")?;
            limits.push(Limit::Import { power_max, price });
        }
        if let Some(limit) = &self.export_limit_kw {
            let power_max = limit.profile(&self.name_field("export_limit_kw"))?;
            let price = price(self.export_breach_price_per_kwh, "export_breach_price_per_kwh")?;
            limits.push(Limit::Export { power_max, price });
        }
        if let Some(price_per_kw) = self.peak_price_per_kw {
            let incurred = Power::from_kw(self.peak_incurred_kw)
                .named(&self.name_field("peak_incurred_kw"))?;
            limits.push(Limit::Peak { price_per_kw, incurred });
        }
        if !self.blocks.is_empty() {
            let block = |&(above, price): &(f64, f64)| -> Result<PriceBlock, Refused> {
                let name = self.name_field("blocks");
                let above = Power::from_kw(above).named(&name)?;
                Ok(PriceBlock { above, price: Price::from_per_kwh(price).named(&name)? })
            };
            limits.push(Limit::Blocks(self.blocks.iter().map(block).collect::<Result<_, _>>()?));
        }
        if let Some(target) = &self.target_kw {
            let power = target.profile(&self.name_field("target_kw"))?;
            if let Some(price) = price(self.target_price_per_kwh, "target_price_per_kwh")? {
                limits.push(Limit::Follow { power: power.clone(), price });
            }
            if let Some(weight) = self.target_square_price {
                limits.push(Limit::FollowSquares { power, weight });
            }
        }
        Ok(limits)
    }
}

/// The columns of all vehicles as one.
pub(crate) fn one_batch(vehicles: TableInput) -> Result<RecordBatch, Refused> {
    let batches = crate::arrow::batches(vehicles)?;
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).map_err(refused)
}

/// Positions of the nodes that the `node` column names; `None` without one, where the only node is
/// that of all vehicles.
fn node_column(
    batch: &RecordBatch,
    places: &BTreeMap<&str, usize>,
) -> Result<Option<Vec<u32>>, Refused> {
    let Some(column) = Columns::new(batch).find("node") else {
        if places.len() > 1 && batch.num_rows() > 0 {
            return Err(Refused::Input(format!(
                "there are {} nodes and no column \"node\", which names that of each vehicle",
                places.len()
            )));
        }
        return Ok(None);
    };
    let names = cast(column, &DataType::Utf8).map_err(refused)?;
    let names = names
        .as_any()
        .downcast_ref::<StringArray>()
        .ok_or_else(|| Refused::Input("column \"node\" holds no names".into()))?;
    let place = |(row, name): (usize, Option<&str>)| {
        let place = name.and_then(|name| places.get(name));
        place.map(|&place| place as u32).ok_or_else(|| {
            Refused::Input(match name {
                Some(name) => format!("node of row {row} is {name:?}; there is no such node"),
                None => format!("node of row {row} is null; give the name of one"),
            })
        })
    };
    names.iter().enumerate().map(place).collect::<Result<_, _>>().map(Some)
}

/// The prices of an area: to buy at and to sell at, for all or by `price_id`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Paid {
    prices: Option<Py<Prices>>,
    curves: Option<Py<PriceCurves>>,
    export_prices: Option<Py<Prices>>,
    export_curves: Option<Py<PriceCurves>>,
}

impl Paid {
    /// The prices to buy at, and their currency.
    pub(crate) fn import(&self) -> Result<(Curves<'_>, &str), Refused> {
        match (&self.prices, self.own()) {
            (_, Some(own)) => Ok((Curves::PerVehicle(&own.table), own.currency())),
            (Some(prices), None) => {
                let prices = prices.get();
                Ok((Curves::Shared(&prices.curve), prices.currency()))
            }
            (None, None) => Err(Refused::Input("prices are missing".into())),
        }
    }

    fn own(&self) -> Option<&PriceCurves> {
        self.curves.as_ref().map(Py::get)
    }

    /// Periods of estimates, by curve: of prices to buy and to sell at.
    fn estimated(&self) -> (Vec<Horizon>, Vec<Horizon>) {
        let of = |shared: Option<&Py<Prices>>, own: Option<&Py<PriceCurves>>| match own {
            Some(own) => own.get().estimated.clone(),
            None => shared.map(|prices| prices.get().estimated()).into_iter().collect(),
        };
        let import = of(self.prices.as_ref(), self.curves.as_ref());
        (import, of(self.export_prices.as_ref(), self.export_curves.as_ref()))
    }

    /// Prices to sell at.
    pub(crate) fn export(&self) -> Result<Option<Curves<'_>>, Refused> {
        let (_, currency) = self.import()?;
        let (shared, own) = (self.export_prices.as_ref(), self.export_curves.as_ref());
        let curves = self.own();
        let found = match (shared.map(Py::get), own.map(Py::get)) {
            (Some(prices), _) if curves.is_none() => {
                (Curves::Shared(&prices.curve), prices.currency())
            }
            (_, Some(own)) if curves.is_some_and(|curves| curves.ids == own.ids) => {
                (Curves::PerVehicle(&own.table), own.currency())
            }
            (None, None) => return Ok(None),
            _ => {
                let text = "export_prices are to be of the same kind as prices, with the same ids";
                return Err(Refused::Input(text.into()));
            }
        };
        if found.1 != currency {
            let text = format!("export_prices are in {:?}, prices in {currency:?}", found.1);
            return Err(Refused::Input(text));
        }
        Ok(Some(found.0))
    }
}

/// Columns of vehicles that also discharge, and of those that negative prices may fill.
struct Discharging {
    discharge_max: Vec<f64>,
    optional: [Option<Vec<f64>>; 4],
    fills: Option<Vec<bool>>,
}

impl Discharging {
    /// Reads the columns. `fills` is the column of vehicles that may be filled; `None` if none may.
    fn new(columns: &Columns<'_>, fills: Option<Vec<bool>>) -> Result<Option<Self>, Refused> {
        let optional = [
            columns.optional_numbers("discharge_efficiency")?,
            columns.optional_numbers("charge_limit_percent")?,
            columns.optional_numbers("end_value_per_kwh")?,
            columns.optional_numbers("wear_price_per_kwh")?,
        ];
        let none = || vec![0.0; columns.len()];
        match columns.optional_numbers("discharge_max_kw")? {
            Some(discharge_max) => Ok(Some(Self { discharge_max, optional, fills })),
            None if optional.iter().all(Option::is_none) && fills.is_none() => Ok(None),
            // A charge limit holds for vehicles that only charge, too.
            None if [0, 2, 3].iter().all(|&column| optional[column].is_none()) => {
                Ok(Some(Self { discharge_max: none(), optional, fills }))
            }
            None => Err(Refused::Input("discharge_max_kw is missing".into())),
        }
    }

    fn columns<'a>(&'a self, export: Option<Curves<'a>>) -> StorageColumns<'a> {
        let [discharge_efficiency, charge_limit_percent, end_value_per_kwh, wear_price_per_kwh] =
            self.optional.each_ref().map(|column| column.as_deref());
        StorageColumns {
            discharge_max_kw: &self.discharge_max,
            efficiency_discharge: discharge_efficiency,
            charge_limit_percent,
            end_value_per_kwh,
            wear_price_per_kwh,
            export,
            fills: self.fills.as_deref(),
        }
    }
}

/// Vehicles that negative prices may fill: all whose need is in percent, unless the column says
/// otherwise. `None` if none may, or no price is negative.
fn fill_column(
    columns: &Columns<'_>,
    vehicles: &Vehicles,
    paid: &Paid,
) -> Result<Option<Vec<bool>>, Refused> {
    let given = columns.optional_flags("fill_when_negative")?;
    if let Some(fills) = &given {
        refuse_kept_from_filling(columns, fills)?;
    }
    if !vehicles.are_in_percent() || !paid.import()?.0.has_negative_price() {
        return Ok(None);
    }
    Ok(Some(given.unwrap_or_else(|| vec![true; columns.len()])))
}

/// Refuses a vehicle that negative prices may not fill, but that also discharges: it is charged
/// where that pays.
fn refuse_kept_from_filling(columns: &Columns<'_>, fills: &[bool]) -> Result<(), Refused> {
    let Some(most) = columns.optional_numbers("discharge_max_kw")? else { return Ok(()) };
    match (0..fills.len()).find(|&row| !fills[row] && most[row] > 0.0) {
        None => Ok(()),
        Some(row) => Err(Refused::Input(format!(
            "fill_when_negative of row {row} is false, and its discharge_max_kw {} kW: a vehicle \
             that also discharges is charged where that pays; leave one of them out",
            most[row]
        ))),
    }
}

/// Names of nodes and their positions.
fn places(nodes: &[NodeArg]) -> Result<BTreeMap<&str, usize>, Refused> {
    let mut places = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        if places.insert(node.name.as_str(), at).is_some() {
            return Err(Refused::Input(format!("there are two nodes {:?}", node.name)));
        }
    }
    Ok(places)
}

/// Vehicles and nodes of an area, or of a part of it.
pub(crate) struct AreaColumns {
    vehicles: Vehicles,
    node: Option<Vec<u32>>,
    priority: Option<Vec<f64>>,
    power_min: Option<Vec<f64>>,
    discharging: Option<Discharging>,
    nodes: Vec<Node>,
    heat: Vec<HeatUnitArgument>,
}

impl AreaColumns {
    pub(crate) fn new(
        batch: &RecordBatch,
        paid: &Paid,
        nodes: &[NodeArg],
    ) -> Result<Self, Refused> {
        let places = places(nodes)?;
        let columns = Columns::new(batch);
        let vehicles = Vehicles::new(batch, paid.own(), ("plan_area", &HONOURED))?;
        let fills = fill_column(&columns, &vehicles, paid)?;
        Ok(Self {
            vehicles,
            node: node_column(batch, &places)?,
            priority: columns.optional_numbers("priority")?,
            power_min: columns.optional_numbers("power_min_kw")?,
            discharging: Discharging::new(&columns, fills)?,
            nodes: nodes.iter().map(|node| node.node(&places)).collect::<Result<_, _>>()?,
            heat: Vec::new(),
        })
    }

    /// The area that these columns and prices describe.
    pub(crate) fn problem<'a>(&'a self, paid: &'a Paid) -> Result<AreaProblem<'a>, Refused> {
        let export = paid.export()?;
        let vehicles = AreaVehicles {
            fleet: self.vehicles.fleet(),
            node: self.node.as_deref(),
            priority: self.priority.as_deref(),
            power_min_kw: self.power_min.as_deref(),
            storage: self.discharging.as_ref().map(|columns| columns.columns(export)),
        };
        let problem = AreaProblem::new(vehicles, paid.import()?.0, self.nodes.clone())?;
        let periods = problem.horizon().periods().next();
        let now = periods.map_or(DateTime::UNIX_EPOCH, |(start, _)| start);
        let units = self.heat.iter().map(|unit| unit.unit(now)).collect::<Result<_, _>>()?;
        Ok(problem.with_heat(units)?)
    }

    /// These columns with heat units, whose plans begin with the prices.
    pub(crate) fn with_heat(self, heat: Vec<HeatUnitArgument>) -> Self {
        Self { heat, ..self }
    }

    pub(crate) fn id(&self) -> &ArrayRef {
        &self.vehicles.id
    }

    /// Periods of the estimates among the prices of each row.
    pub(crate) fn estimates(&self, paid: &Paid) -> Estimates<'_> {
        let (import, export) = paid.estimated();
        self.vehicles.estimates(import, export)
    }

    /// Names of the nodes in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.nodes.iter().map(|node| node.name.clone()).collect()
    }
}
