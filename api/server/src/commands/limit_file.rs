//! Files of limits: a period on each line, below a line with the names of the columns.
use std::path::Path;

use csv::StringRecord;
use slackwater_engine::plan::charge::PowerLimit;
use slackwater_engine::shared_supply::{SharedLimit, SharedLimitError};
use slackwater_engine::units::Power;
use slackwater_service::delimited::{editor_line, parse_decimal, read_delimited};

use crate::commands::arguments::parse_instant;
use crate::commands::failure::Failure;

/// Columns of the file, which may stand in any order.
const COLUMNS: [&str; 3] = ["start", "end", "power_max_kw"];

/// Periods of a file, in the order of its lines.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LimitFile {
    /// The periods, in time order and without overlap.
    pub(crate) periods: Vec<PowerLimit>,
    /// Line of each period as an editor counts it: the names of the columns are on line 1.
    lines: Vec<usize>,
}

impl LimitFile {
    /// Reads the text of a file. A fault names the file, the line, the column and its value.
    pub(crate) fn read_text(file: &Path, text: &str) -> Result<Self, Failure> {
        let fault = |(line, reason): (usize, String)| Failure::Limits {
            reason: format!("{}, line {line}: {reason}", file.display()),
        };
        let read = read_lines(text.trim_start_matches('\u{feff}')).map_err(fault)?;
        read.check_periods().map_err(fault)?;
        Ok(read)
    }

    /// Number of periods, and the lines on which they stand.
    pub(crate) fn describe_lines(&self) -> String {
        match (self.lines.first(), self.lines.last()) {
            (Some(first), Some(last)) if first < last => {
                format!("{} periods on lines {first} to {last}", self.lines.len())
            }
            (Some(line), _) => format!("1 period on line {line}"),
            (None, _) => "no period below the names of the columns".to_owned(),
        }
    }

    /// Checks that the periods are a limit. A fault has the line of the later period.
    fn check_periods(&self) -> Result<(), (usize, String)> {
        let Err(error) = SharedLimit::new(None, self.periods.clone()) else { return Ok(()) };
        let line = |index: usize| self.lines.get(index).copied().unwrap_or_default();
        Err(match error {
            SharedLimitError::NotAhead { index, start, end } => {
                (line(index), format!("end is {end}, and start is {start}; it has to end later"))
            }
            SharedLimitError::Overlap { index, start } => {
                let (before, end) = (line(index - 1), self.periods[index - 1].end);
                let reason = format!(
                    "start is {start}, before the period of line {before} ends at {end}; sort the \
                     lines by start, and let none overlap"
                );
                (line(index), reason)
            }
            other => (line(0), other.to_string()),
        })
    }
}

fn read_lines(text: &str) -> Result<LimitFile, (usize, String)> {
    let mut reader = read_delimited(text);
    let header = reader.headers().map_err(|error| line_fault(text, &error))?.clone();
    let line = editor_line(text, header.position());
    let columns = find_columns(&header).map_err(|reason| (line, reason))?;
    let mut read = LimitFile { periods: Vec::new(), lines: Vec::new() };
    for record in reader.records() {
        let record = record.map_err(|error| line_fault(text, &error))?;
        let line = editor_line(text, record.position());
        read.periods.push(read_period(&record, columns).map_err(|reason| (line, reason))?);
        read.lines.push(line);
    }
    Ok(read)
}

/// Positions of the columns, in the order of [`COLUMNS`].
fn find_columns(header: &StringRecord) -> Result<[usize; 3], String> {
    let names: Vec<&str> = header.iter().collect();
    let shown = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    let expected = "the first line names the columns start, end and power_max_kw";
    if let Some(unknown) = names.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(format!("{expected}, and {unknown:?} is none of them"));
    }
    let positions = COLUMNS.map(|column| names.iter().position(|name| *name == column));
    match positions {
        [Some(start), Some(end), Some(power)] if names.len() == COLUMNS.len() => {
            Ok([start, end, power])
        }
        _ => Err(format!("{expected}, and here it has {shown}")),
    }
}

fn read_period(
    record: &StringRecord,
    [start, end, power]: [usize; 3],
) -> Result<PowerLimit, String> {
    let cell = |column: usize| record.get(column).unwrap_or_default();
    let named = |name: &'static str| move |reason: String| format!("{name}: {reason}");
    Ok(PowerLimit {
        start: parse_instant(cell(start)).map_err(named("start"))?,
        end: parse_instant(cell(end)).map_err(named("end"))?,
        power_max: read_power(cell(power)).map_err(named("power_max_kw"))?,
    })
}

fn read_power(cell: &str) -> Result<Power, String> {
    let number = parse_decimal(cell)
        .ok_or_else(|| format!("`{cell}` is not a number of kW, such as 120.5"))?;
    let power = Power::from_kw(number).map_err(|error| error.to_string())?;
    if power < Power::ZERO {
        return Err(format!("{number} kW is below 0; a limit is at least 0 kW"));
    }
    Ok(power)
}

/// Fault of a line that is no record.
fn line_fault(text: &str, error: &csv::Error) -> (usize, String) {
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("it has {len} columns, and the lines before have {expected_len}")
        }
        _ => "it is not delimited text".to_owned(),
    };
    (editor_line(text, error.position()), reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "start,end,power_max_kw\n";

    #[track_caller]
    fn parse(text: &str) -> Result<LimitFile, String> {
        LimitFile::read_text(Path::new("limits.csv"), text).map_err(|failure| failure.to_string())
    }

    /// A line of a period from one hour of a day to another.
    fn line(from: u32, to: u32, power: &str) -> String {
        format!("2026-01-05T{from:02}:00:00Z,2026-01-05T{to:02}:00:00Z,{power}\n")
    }

    #[test]
    fn periods_have_the_lines_of_an_editor() {
        let text = [HEADER, "\n", &line(18, 19, "50"), &line(19, 20, "70.5")].concat();
        let read = parse(&text).unwrap();
        assert_eq!((read.periods.len(), read.lines.as_slice()), (2, &[3, 4][..]));
        assert_eq!(read.describe_lines(), "2 periods on lines 3 to 4");
        let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(parse(&windows), Ok(read.clone()));
        let european = text.replace(',', ";").replace("70.5", "70,5");
        assert_eq!(parse(&european), Ok(read.clone()));
        let below_empty = parse(&format!("\r\n\n{european}")).unwrap();
        assert_eq!((below_empty.periods, below_empty.lines), (read.periods, vec![5, 6]));
        assert_eq!(
            parse(HEADER).unwrap().describe_lines(),
            "no period below the names of the columns"
        );
        let one = [HEADER, &line(18, 19, "50")].concat();
        assert_eq!(parse(&one).unwrap().describe_lines(), "1 period on line 2");
    }

    #[test]
    fn columns_stand_in_any_order() {
        let text = "power_max_kw,start,end\n50,2026-01-05T18:00:00Z,2026-01-05T19:00:00Z\n";
        let usual = [HEADER, &line(18, 19, "50")].concat();
        assert_eq!(parse(text), parse(&usual));
    }

    #[test]
    fn faults_name_the_line_of_an_editor() {
        let after = |line: &str| [HEADER, "\n", line].concat();
        let overlap = after(&[line(18, 20, "50"), line(19, 21, "50")].concat());
        let expected = "the first line names the columns start, end and power_max_kw";
        let cases = [
            (
                after(&line(18, 19, "much")),
                "line 3: power_max_kw: `much` is not a number of kW".to_owned(),
            ),
            (after(&line(18, 19, "-5")), "line 3: power_max_kw: -5 kW is below 0".to_owned()),
            (after(&line(18, 19, "1e9")), "line 3: power_max_kw: 1e9 kW is beyond 1e7".to_owned()),
            (
                after("six,seven,5\n"),
                "line 3: start: `six` is not an instant with an offset, such as".to_owned(),
            ),
            (
                after(&line(19, 19, "5")),
                "line 3: end is 2026-01-05 19:00:00 UTC, and start is".to_owned(),
            ),
            (
                overlap,
                "line 4: start is 2026-01-05 19:00:00 UTC, before the period of line 3 ends"
                    .to_owned(),
            ),
            (after("a,b\n"), "line 3: it has 2 columns, and the lines before have 3".to_owned()),
            (String::new(), format!("line 1: {expected}, and here it has nothing")),
            ("start,end\n".to_owned(), format!("line 1: {expected}, and here it has start, end")),
            (
                "\nfrom,end\n".to_owned(),
                format!("line 2: {expected}, and \"from\" is none of them"),
            ),
        ];
        for (text, reason) in &cases {
            let expected = format!("limits: limits.csv, {reason}");
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(&expected), "{text:?}: {error}");
        }
    }
}
