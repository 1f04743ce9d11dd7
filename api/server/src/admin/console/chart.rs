//! Curves over time as SVG, made on the server.
//!
//! A chart has panels above each other that share the axis of time. It is drawn twice, for wide and
//! for narrow screens, so that its texts have the size of the page's; the style shows one of them.
//! Nothing is decided here: values come from plans and prices as they are.
use std::fmt::Write as _;

use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use maud::{Markup, html};

use crate::admin::console::words::trimmed;

/// Value that holds for a period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) start: DateTime<Utc>,
    pub(crate) end: DateTime<Utc>,
    pub(crate) value: f64,
}

/// Way in which a panel shows its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawing {
    /// A line of steps, on an axis from zero.
    Line,
    /// A line of steps of a quantity whose zero says nothing, such as a temperature.
    Level,
    /// Filled areas.
    Area,
}

/// Level that a curve should not exceed, or not fall below.
#[derive(Debug, Clone)]
pub(crate) struct Level {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// One curve with its axis.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// Quantity and unit.
    pub(crate) title: String,
    pub(crate) drawing: Drawing,
    pub(crate) steps: Vec<Step>,
    /// A level that the curve should keep.
    pub(crate) limit: Option<Level>,
}

/// Panels over one period.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// Description of the chart, for those who do not see it.
    pub(crate) label: String,
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
    pub(crate) time_zone: Tz,
    /// Instants with names, such as now and a deadline.
    pub(crate) marks: Vec<(DateTime<Utc>, String)>,
    /// Periods that all panels show behind their curves.
    pub(crate) bands: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    pub(crate) panels: Vec<Panel>,
}

/// Measures of a drawing, in pixels of a screen.
struct Size {
    class: &'static str,
    width: f64,
    panel: f64,
    /// Most labels on the axis of time.
    labels: i64,
}

const SIZES: [Size; 2] = [
    Size { class: "chart wide", width: 960.0, panel: 150.0, labels: 12 },
    Size { class: "chart narrow", width: 320.0, panel: 120.0, labels: 5 },
];

/// Room for the numbers of the axes.
const LEFT: f64 = 44.0;
const RIGHT: f64 = 8.0;
/// Room for the names of marks above the panels, and for times below.
const TOP: f64 = 20.0;
const BOTTOM: f64 = 22.0;
/// Room for the title of a panel.
const TITLE: f64 = 32.0;

impl Chart {
    /// Draws the chart.
    pub(crate) fn draw(&self) -> Markup {
        html! { @for size in &SIZES { (self.draw_sized(size)) } }
    }

    fn draw_sized(&self, size: &Size) -> Markup {
        let panel_height = TITLE + size.panel;
        let height = TOP + panel_height * self.panels.len() as f64 + BOTTOM;
        let foot = height - BOTTOM;
        let x = |at| self.place(at, size);
        html! {
            svg class=(size.class) viewBox=(format!("0 0 {} {}", size.width, height)) role="img"
                aria-label=(self.label) {
                @for (start, end) in &self.bands {
                    rect.band x=(pixel(x(*start))) y=(TOP) width=(pixel(x(*end) - x(*start)))
                        height=(pixel(foot - TOP)) {}
                }
                @for (number, panel) in self.panels.iter().enumerate() {
                    (self.draw_panel(panel, TOP + panel_height * number as f64, size))
                }
                @for (at, label) in self.time_labels(size.labels) {
                    text x=(pixel(x(at))) y=(pixel(foot + 16.0)) text-anchor="middle" { (label) }
                }
                (self.draw_marks(size, foot))
                @for (number, panel) in self.panels.iter().enumerate() {
                    // After the marks, which end at the edge of a title.
                    text.title x=(LEFT) y=(pixel(TOP + panel_height * number as f64 + 20.0)) {
                        (panel.title)
                    }
                }
            }
        }
    }

    fn draw_panel(&self, panel: &Panel, top: f64, size: &Size) -> Markup {
        let scale = Scale::of(panel);
        let y = |value: f64| top + TITLE + size.panel * scale.share_above(value);
        let corners_of = |steps: &[Step]| -> Vec<[f64; 3]> {
            let inside = steps.iter().filter(|step| step.end > self.from && step.start < self.to);
            let place = |at| self.place(at, size);
            inside.map(|step| [place(step.start), place(step.end), y(step.value)]).collect()
        };
        let corners = corners_of(&panel.steps);
        let (path, class) = match panel.drawing {
            Drawing::Line | Drawing::Level => (line_path(&corners), "line"),
            Drawing::Area => (area_path(&corners, y(0.0)), "area"),
        };
        html! {
            @for tick in scale.ticks() {
                line.grid x1=(LEFT) x2=(size.width - RIGHT) y1=(pixel(y(tick))) y2=(pixel(y(tick))) {}
                text x=(LEFT - 6.0) y=(pixel(y(tick) + 4.0)) text-anchor="end" {
                    (trimmed(tick, scale.decimals()))
                }
            }
            path class=(class) d=(path) {}
            @if let Some(limit) = &panel.limit {
                @let corners = corners_of(&limit.steps);
                path.limit d=(line_path(&corners)) {}
                @if let Some([_, end, last]) = corners.last() {
                    text.limit x=(pixel(*end)) y=(pixel(last - 5.0)) text-anchor="end" { (limit.name) }
                }
            }
        }
    }

    /// Vertical lines. A name that would leave the picture stands on the other side.
    fn draw_marks(&self, size: &Size, foot: f64) -> Markup {
        let is_inside = |at: &DateTime<Utc>| (self.from..=self.to).contains(at);
        html! {
            @for (at, name) in self.marks.iter().filter(|(at, _)| is_inside(at)) {
                @let x = self.place(*at, size);
                @let is_right = x > size.width * 0.7;
                line.mark x1=(pixel(x)) x2=(pixel(x)) y1=(TOP - 4.0) y2=(pixel(foot)) {}
                text.mark x=(pixel(if is_right { x - 4.0 } else { x + 4.0 })) y=(TOP - 6.0)
                    text-anchor=(if is_right { "end" } else { "start" }) { (name) }
            }
        }
    }

    /// Place of an instant on the axis of time, inside the picture.
    fn place(&self, at: DateTime<Utc>, size: &Size) -> f64 {
        let whole = (self.to - self.from).num_milliseconds().max(1) as f64;
        let share = (at - self.from).num_milliseconds() as f64 / whole;
        LEFT + share.clamp(0.0, 1.0) * (size.width - LEFT - RIGHT)
    }

    /// Full hours on the wall clock, at most so many, and how they read.
    fn time_labels(&self, most: i64) -> Vec<(DateTime<Utc>, String)> {
        let hours = (self.to - self.from).num_hours().max(1);
        let every = [1, 2, 3, 6, 12, 24].into_iter().find(|every| hours / every <= most);
        let every = every.unwrap_or(24) as u32;
        // Offsets are whole quarters of an hour.
        let quarter = TimeDelta::minutes(15);
        let past = self.from.timestamp().rem_euclid(quarter.num_seconds());
        let first = self.from - TimeDelta::seconds(past) + quarter;
        let quarters = (0i32..).map(|number| first + quarter * number);
        let labels = quarters.take_while(|at| *at < self.to).filter_map(|at| {
            let local = at.with_timezone(&self.time_zone);
            let is_shown = local.minute() == 0 && local.hour() % every == 0;
            let format = if local.hour() == 0 { "%a %-d" } else { "%H:%M" };
            is_shown.then(|| (at, local.format(format).to_string()))
        });
        labels.collect()
    }
}

/// Axis of values.
struct Scale {
    least: f64,
    most: f64,
    between: f64,
}

impl Scale {
    /// The axis of a panel: around all values, and zero unless it says nothing.
    fn of(panel: &Panel) -> Self {
        let values = panel.steps.iter().map(|step| step.value);
        let limit = panel.limit.iter().flat_map(|limit| limit.steps.iter().map(|step| step.value));
        let mut all = values.chain(limit).peekable();
        let first = all.peek().copied().unwrap_or(0.0);
        let origin = if panel.drawing == Drawing::Level { first } else { 0.0 };
        let (least, most) =
            all.fold((origin, origin), |(least, most), value| (least.min(value), most.max(value)));
        let span = if most > least { most - least } else { 1.0 };
        // The round number that makes three to six parts of the span.
        let power = 10.0_f64.powf((span / 4.0).log10().floor());
        let between = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| span / (times * power) <= 5.0);
        let between = between.unwrap_or(10.0) * power;
        let most = if most > least { (most / between).ceil() * between } else { least + span };
        Self { least: (least / between).floor() * between, most, between }
    }

    fn ticks(&self) -> Vec<f64> {
        let count = ((self.most - self.least) / self.between).round() as u32;
        (0..=count).map(|number| self.least + self.between * f64::from(number)).collect()
    }

    /// Decimals that tell the ticks apart.
    fn decimals(&self) -> usize {
        (-self.between.log10().floor()).clamp(0.0, 6.0) as usize
    }

    /// Share of the axis above a value.
    fn share_above(&self, value: f64) -> f64 {
        (self.most - value) / (self.most - self.least)
    }
}

/// Horizontal lines, joined where the periods touch.
fn line_path(corners: &[[f64; 3]]) -> String {
    let mut path = String::new();
    let mut reached = f64::NAN;
    for [start, end, y] in corners {
        let joins = (start - reached).abs() < 0.01;
        // Writing to a text cannot fail.
        let _: std::fmt::Result = if joins {
            write!(path, "V{}H{}", pixel(*y), pixel(*end))
        } else {
            write!(path, "M{} {}H{}", pixel(*start), pixel(*y), pixel(*end))
        };
        reached = *end;
    }
    path
}

/// Rectangles from the line of zero.
fn area_path(corners: &[[f64; 3]], zero: f64) -> String {
    let mut path = String::new();
    for [start, end, y] in corners.iter().filter(|[_, _, y]| (y - zero).abs() > 0.01) {
        let _: std::fmt::Result = write!(
            path,
            "M{} {}V{}H{}V{}Z",
            pixel(*start),
            pixel(zero),
            pixel(*y),
            pixel(*end),
            pixel(zero)
        );
    }
    path
}

/// A coordinate to a tenth of a pixel.
fn pixel(value: f64) -> String {
    trimmed(value, 1)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn at(hour: i64) -> DateTime<Utc> {
        "2026-03-28T18:00:00Z".parse::<DateTime<Utc>>().unwrap() + TimeDelta::hours(hour)
    }

    fn panel(values: &[f64], limit: Option<f64>) -> Panel {
        let step = |(hour, value): (usize, &f64)| {
            let start = at(i64::try_from(hour).unwrap());
            Step { start, end: start + TimeDelta::hours(1), value: *value }
        };
        let steps = values.iter().enumerate().map(step).collect();
        let limit = limit.map(|value| Level {
            name: "limit".to_owned(),
            steps: vec![Step { start: at(0), end: at(12), value }],
        });
        Panel { title: "kW".to_owned(), drawing: Drawing::Line, steps, limit }
    }

    #[test]
    fn axes_have_round_numbers_around_all_values() {
        for (values, limit, ticks) in [
            (&[0.62, 1.38][..], None, &[0.0, 0.5, 1.0, 1.5][..]),
            (&[-0.2, 0.3], None, &[-0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
            (&[3.7], Some(22.0), &[0.0, 5.0, 10.0, 15.0, 20.0, 25.0]),
            (&[], None, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
            (&[0.0], None, &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ] {
            let scale = Scale::of(&panel(values, limit));
            let found = scale.ticks();
            assert!(
                found.len() == ticks.len()
                    && found.iter().zip(ticks).all(|(a, b)| (a - b).abs() < 1e-9),
                "{values:?}: {found:?}"
            );
            for value in values {
                assert!((0.0..=1.0).contains(&scale.share_above(*value)), "{value} in {found:?}");
            }
        }
    }

    #[test]
    fn an_axis_of_temperatures_does_not_begin_at_zero() {
        let rooms = Panel { drawing: Drawing::Level, ..panel(&[20.1, 22.4], Some(19.5)) };
        let ticks = Scale::of(&rooms).ticks();
        assert_eq!(ticks, [19.0, 20.0, 21.0, 22.0, 23.0]);
        let steady = Panel { drawing: Drawing::Level, ..panel(&[20.0], None) };
        let scale = Scale::of(&steady);
        assert!((0.0..=1.0).contains(&scale.share_above(20.0)), "{:?}", scale.ticks());
    }

    #[test]
    fn labels_are_hours_of_the_wall_clock_also_where_one_is_missing() {
        let chart = Chart {
            label: String::new(),
            from: at(0),
            to: at(12),
            time_zone: "Europe/Oslo".parse().unwrap(),
            marks: vec![(at(1), "now".to_owned()), (at(13), "outside".to_owned())],
            bands: vec![(at(2), at(3))],
            panels: vec![panel(&[1.0, 2.0], Some(3.0))],
        };
        let labels: Vec<String> = chart.time_labels(6).into_iter().map(|(_, text)| text).collect();
        assert_eq!(labels, ["20:00", "22:00", "Sun 29", "04:00", "06:00"]);
        let drawn = chart.draw().into_string();
        assert!(drawn.contains(">now<") && !drawn.contains(">outside<"));
        assert_eq!(drawn.matches("<svg").count(), 2);
    }

    #[test]
    fn a_line_has_gaps_where_nothing_is_known() {
        let corners = [[10.0, 20.0, 5.0], [20.0, 30.0, 7.0], [40.0, 50.0, 7.0]];
        expect!["M10 5H20V7H30M40 7H50"].assert_eq(&line_path(&corners));
        expect!["M10 9V5H20V9ZM20 9V7H30V9ZM40 9V7H50V9Z"].assert_eq(&area_path(&corners, 9.0));
    }
}
