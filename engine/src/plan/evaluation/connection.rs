//! Energy and cost at a connection, from the flows of a device and facts about the rest.
//!
//! Time is cut wherever a flow, a price, a power or a window of the demand charge begins or ends.
//! In each piece
//!
//! ```text
//! net = load + device − solar,    import = max(net, 0),    export = max(−net, 0)
//! ```
//!
//! Solar power serves the load first, then the device. A piece in which a fact is missing is in no
//! sum. A flow that lies in one piece keeps its energy to the bit, so that a plan evaluated at its
//! own prices costs what it cost, but for the order of a sum.
use crate::plan::evaluation::facts::{ConnectionFacts, MissingFact, MissingFactKind};
use crate::prices::curve::PriceCurve;
use crate::time::horizon::Horizon;
use crate::time::instant::instant_at;
use crate::units::{Energy, MICROS_PER_HOUR};

/// Energy of a device at constant power: positive draws, negative feeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct EnergyFlow {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) kwh: f64,
}

/// Sums at a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionSums {
    pub(crate) import_cost: f64,
    pub(crate) export_revenue: f64,
    /// Price of the emissions of the import, where its own price does not hold it.
    pub(crate) emission_cost: f64,
    pub(crate) import_kwh: f64,
    pub(crate) export_kwh: f64,
    pub(crate) from_solar_kwh: f64,
    pub(crate) from_grid_kwh: f64,
    /// Import at prices that are only estimated, in kWh.
    pub(crate) on_estimates_kwh: f64,
    /// Highest import in a window of the demand charge, in kWh.
    pub(crate) window_kwh_max: f64,
    pub(crate) missing: Vec<MissingFact>,
}

/// Piece of time with constant powers and prices.
struct Piece {
    start: i64,
    end: i64,
    device_kwh: f64,
}

/// Sums of flows, in time order and without overlap, over `[from, to)` under facts.
pub(crate) fn sum_up(
    flows: &[EnergyFlow],
    facts: &ConnectionFacts<'_>,
    span: (i64, i64),
) -> ConnectionSums {
    sum_up_pieces(flows, facts, span, |_, _| {})
}

/// Sums as [`sum_up`]. `see` gets the start of each piece and the energy imported in it, in kWh.
pub(crate) fn sum_up_pieces(
    flows: &[EnergyFlow],
    facts: &ConnectionFacts<'_>,
    (from, to): (i64, i64),
    mut see: impl FnMut(i64, f64),
) -> ConnectionSums {
    let mut sums = ConnectionSums::default();
    let (mut window, mut window_kwh) = (i64::MIN, 0.0);
    for piece in pieces(flows, facts, (from, to)) {
        let before = sums.import_kwh;
        sums.add(&piece, facts);
        see(piece.start, sums.import_kwh - before);
        if let Some(demand) = &facts.demand {
            let number = piece.start.div_euclid(demand.window());
            window_kwh = if number == window { window_kwh } else { 0.0 };
            window = number;
            window_kwh += sums.import_kwh - before;
            sums.window_kwh_max = sums.window_kwh_max.max(window_kwh);
        }
    }
    sums
}

impl ConnectionSums {
    fn add(&mut self, piece: &Piece, facts: &ConnectionFacts<'_>) {
        let hours = (piece.end - piece.start) as f64 / MICROS_PER_HOUR;
        let solar = facts.solar.map_or(Some(0.0), |solar| solar.at(piece.start));
        let load = facts.load.map_or(Some(0.0), |load| load.at(piece.start));
        let (solar, load) = match (solar, load) {
            (None, _) => return self.miss(piece, MissingFactKind::Solar),
            (_, None) => return self.miss(piece, MissingFactKind::Load),
            (Some(solar), Some(load)) => (solar * hours, load * hours),
        };
        let net = if solar == 0.0 && load == 0.0 {
            piece.device_kwh
        } else {
            load + piece.device_kwh - solar
        };
        let price_of = |curve: &PriceCurve| price_at(curve, piece.start);
        if net > 0.0 {
            let Some(price) = price_of(facts.import) else {
                return self.miss(piece, MissingFactKind::Price);
            };
            let Some(emissions) = facts.emissions.map_or(Some(0.0), price_of) else {
                return self.miss(piece, MissingFactKind::Emissions);
            };
            self.import_cost += price * net;
            self.emission_cost += emissions * net;
            self.import_kwh += net;
            if facts.estimated.is_some_and(|periods| covers(periods, piece.start)) {
                self.on_estimates_kwh += net;
            }
        } else if net < 0.0 {
            let Some(price) = facts.export.map_or(Some(0.0), price_of) else {
                return self.miss(piece, MissingFactKind::ExportPrice);
            };
            self.export_revenue += price * -net;
            self.export_kwh -= net;
        }
        let drawn = piece.device_kwh.max(0.0);
        let from_solar = drawn.min((solar - load).max(0.0));
        self.from_solar_kwh += from_solar;
        self.from_grid_kwh += drawn - from_solar;
    }

    /// Energy of the pieces in which a fact is missing.
    pub(crate) fn missing_energy(&self) -> Energy {
        self.missing.iter().fold(Energy::ZERO, |sum, fact| sum + fact.energy)
    }

    /// Notes a piece in which a fact is missing.
    fn miss(&mut self, piece: &Piece, kind: MissingFactKind) {
        let energy = Energy::from_kwh(piece.device_kwh.abs()).unwrap_or(Energy::ZERO);
        let (start, end) = (instant_at(piece.start), instant_at(piece.end));
        match self.missing.last_mut() {
            Some(last) if last.end == start && last.kind == kind => {
                last.end = end;
                last.energy = last.energy + energy;
            }
            _ => self.missing.push(MissingFact { start, end, kind, energy }),
        }
    }
}

fn price_at(curve: &PriceCurve, at: i64) -> Option<f64> {
    curve.horizon().overlapping(at, at + 1).next().map(|slot| curve.prices()[slot])
}

/// True if an instant is in one of some periods.
pub(crate) fn covers(periods: &Horizon, at: i64) -> bool {
    !periods.overlapping(at, at + 1).is_empty()
}

/// Pieces of `[from, to)` with the energy of the device in each.
fn pieces(flows: &[EnergyFlow], facts: &ConnectionFacts<'_>, (from, to): (i64, i64)) -> Vec<Piece> {
    let mut cuts: Vec<i64> = vec![from, to];
    cuts.extend(flows.iter().flat_map(|flow| [flow.start, flow.end]));
    let curves = [Some(facts.import), facts.export, facts.emissions].into_iter().flatten();
    for horizon in curves.map(PriceCurve::horizon).chain(facts.estimated) {
        cuts.extend(horizon.starts().iter().chain(horizon.ends()));
    }
    for power in [facts.solar, facts.load].into_iter().flatten() {
        cuts.extend(power.cuts());
    }
    if let Some(demand) = &facts.demand {
        let first = from.div_euclid(demand.window());
        cuts.extend((first..).map(|n| n * demand.window()).take_while(|&cut| cut < to));
    }
    cuts.retain(|cut| (from..=to).contains(cut));
    cuts.sort_unstable();
    cuts.dedup();
    let mut flow = 0;
    let piece = |pair: &[i64]| {
        let (start, end) = (pair[0], pair[1]);
        while flows.get(flow).is_some_and(|flow| flow.end <= start) {
            flow += 1;
        }
        let device_kwh = flows.get(flow).map_or(0.0, |flow| part_of(flow, start, end));
        Piece { start, end, device_kwh }
    };
    cuts.windows(2).map(piece).collect()
}

/// Energy of a flow in a piece that lies inside or outside of it.
fn part_of(flow: &EnergyFlow, start: i64, end: i64) -> f64 {
    if (start, end) == (flow.start, flow.end) {
        return flow.kwh;
    }
    if start < flow.start || end > flow.end {
        return 0.0;
    }
    flow.kwh * ((end - start) as f64 / (flow.end - flow.start) as f64)
}
