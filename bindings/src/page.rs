//! Pages of a list, and tables of versions.
use chrono::{DateTime, Utc};
use pyo3::prelude::*;
use slackwater_wire::page::cursor::{Cursor, Key, Side};
use slackwater_wire::page::list::{PageRequest, list_page as engine_list_page};
use slackwater_wire::version::dated::ApiVersion;
use slackwater_wire::version::field::Field;
use slackwater_wire::version::lifecycle::Releases;

use crate::error::{Named, Refused};
use crate::time::{Instant, Whole};

/// Creation, identifier, side.
type CursorTuple<T> = (T, String, String);

/// Items, and the cursors to the pages before and after.
type PageTuple = (
    Vec<(DateTime<Utc>, String)>,
    Option<CursorTuple<DateTime<Utc>>>,
    Option<CursorTuple<DateTime<Utc>>>,
);

fn cursor(given: Option<CursorTuple<Instant>>, name: &str) -> Result<Option<Cursor>, Refused> {
    let Some((created_at, id, side)) = given else { return Ok(None) };
    let side = match side.as_str() {
        "above" => Side::Above,
        "below" => Side::Below,
        other => {
            let text = format!("{name}.side is {other:?}; it is \"above\" or \"below\"");
            return Err(Refused::Input(text));
        }
    };
    Ok(Some(Cursor { key: Key { created_at: created_at.0, id }, side }))
}

/// See `slackwater.paging.list_page`.
#[pyfunction]
#[pyo3(signature = (items, *, before, after, page_size))]
pub(crate) fn list_page(
    items: Vec<(Instant, String)>,
    before: Option<CursorTuple<Instant>>,
    after: Option<CursorTuple<Instant>>,
    page_size: Option<Whole>,
) -> Result<PageTuple, Refused> {
    let items: Vec<Key> = items.into_iter().map(|(at, id)| Key { created_at: at.0, id }).collect();
    let size = page_size.map(|size| size.0);
    let request = PageRequest::new(cursor(before, "before")?, cursor(after, "after")?, size)?;
    let page = engine_list_page(&items, &request)?;
    let tuple = |cursor: Option<Cursor>| {
        cursor.map(|c| (c.key.created_at, c.key.id, c.side.as_str().to_string()))
    };
    let items = page.keys.into_iter().map(|key| (key.created_at, key.id));
    Ok((items.collect(), tuple(page.before), tuple(page.after)))
}

/// See `slackwater.versions.VERSIONS`.
#[pyfunction]
pub(crate) fn version_dates() -> Vec<&'static str> {
    ApiVersion::ALL.map(ApiVersion::as_str).to_vec()
}

/// See `slackwater.versions.fields`.
#[pyfunction]
pub(crate) fn version_fields(version: &str) -> Result<Vec<(&'static str, bool)>, Refused> {
    let version = ApiVersion::parse(version).named("version")?;
    Ok(Field::ALL.iter().map(|field| (field.as_str(), field.is_in(version))).collect())
}

/// See `slackwater.versions.stage`.
#[pyfunction]
#[pyo3(signature = (version, *, releases, now))]
pub(crate) fn version_stage(
    version: &str,
    releases: Vec<(String, Instant)>,
    now: Instant,
) -> Result<(&'static str, bool, Option<&'static str>), Refused> {
    let release = |(index, (date, at)): (usize, &(String, Instant))| {
        let version = ApiVersion::parse(date).named(&format!("releases[{index}]"))?;
        Ok::<_, Refused>((version, at.0))
    };
    let history = releases.iter().enumerate().map(release).collect::<Result<_, _>>()?;
    let history = Releases::new(history)?;
    let version = ApiVersion::parse(version).named("version")?;
    let stage = history.stage(version, now.0);
    let served = history.served(version, now.0).map(ApiVersion::as_str);
    Ok((stage.as_str(), stage.may_be_chosen(), served))
}
