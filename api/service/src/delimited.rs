//! Delimited text as people write it: its delimiter, its numbers, and lines as an editor counts them.

/// Records of a text. Its first line that is not empty says by a semicolon or tab that they separate
/// columns; otherwise commas do. Spaces around cells are left out.
#[must_use]
pub fn read_delimited(text: &str) -> csv::Reader<&[u8]> {
    let first = text.trim_start_matches(['\r', '\n']).lines().next().unwrap_or_default();
    let delimiter = [b';', b'\t'].into_iter().find(|&mark| first.contains(char::from(mark)));
    csv::ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes())
}

/// A number with a decimal point, or with a decimal comma where commas do not separate columns.
#[must_use]
pub fn parse_decimal(cell: &str) -> Option<f64> {
    cell.replace(',', ".").parse().ok()
}

/// Number of the line on which a record starts, the first being 1. Empty lines count, as they do in
/// an editor, and not for the reader: the position of a record may lie ahead of them.
///
/// # Example
///
/// ```
/// use slackwater_service::delimited::{editor_line, read_delimited};
///
/// let text = "start,price\r\n\r\n2026-01-05,40\r\n2026-01-06,50\r\n";
/// let mut reader = read_delimited(text);
/// let lines = reader.records().map(|record| editor_line(text, record.unwrap().position()));
/// assert_eq!(lines.collect::<Vec<_>>(), [3, 4]);
/// ```
#[must_use]
pub fn editor_line(text: &str, position: Option<&csv::Position>) -> usize {
    let byte = position.and_then(|position| usize::try_from(position.byte()).ok()).unwrap_or(0);
    let (before, after) = text.split_at_checked(byte).unwrap_or((text, ""));
    let ends = after.bytes().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    1 + before.bytes().chain(ends).filter(|byte| *byte == b'\n').count()
}
