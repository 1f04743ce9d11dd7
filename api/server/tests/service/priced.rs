//! Homes in areas with prices, as tests of plans want them.
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use chrono_tz::Tz;
use serde_json::json;
use slackwater_engine::prices::curve::{PriceCurve, Slot};
use slackwater_engine::prices::resolve::{Sources, resolve};
use slackwater_engine::units::per_kwh;
use slackwater_integration::reading::Position;
use slackwater_service::cache::price_lookup::{PriceBook, Priced, Purpose};
use slackwater_service::linking::connect::{NewUser, connect};
use slackwater_store::locations::{Location, LocationFacts};
use uuid::Uuid;

use crate::harness::{Asker, On, Stage, six};
use crate::readings::{charger, reading};

/// Market prices by area, hour by hour from six in the evening on, in cents.
#[derive(Debug, Default)]
pub(crate) struct Book(Mutex<BTreeMap<String, Vec<i32>>>);

impl Book {
    pub(crate) fn set(&self, area: &str, cents: &[i32]) {
        self.0.lock().unwrap().insert(area.to_owned(), cents.to_vec());
    }
}

impl PriceBook for Book {
    fn resolved(
        &self,
        location: &Location,
        _: Purpose,
        (from, to): (DateTime<Utc>, DateTime<Utc>),
    ) -> Priced {
        let area = location.facts.area_id.clone().unwrap_or_default();
        let cents = self.0.lock().unwrap().get(&area).cloned().unwrap_or_default();
        let slot = |(hour, cent): (usize, &i32)| Slot {
            start: at(hour as i64),
            end: at(hour as i64 + 1),
            price: per_kwh(f64::from(*cent) / 100.0),
        };
        let slots: Vec<Slot> = cents.iter().enumerate().map(slot).collect();
        let curve = PriceCurve::new(&slots).unwrap();
        let market = Sources { market: Some(&curve), ..Sources::default() };
        Priced { prices: resolve(market, from, to), currency: "NOK".to_owned() }
    }

    fn alike(&self, location: &Location) -> Option<String> {
        location.facts.area_id.clone()
    }
}

pub(crate) const HOME: Position = Position { latitude: 59.9117, longitude: 10.7500 };

pub(crate) fn at(hour: i64) -> DateTime<Utc> {
    six() + TimeDelta::hours(hour)
}

/// A place of a user in an area of a zone.
pub(crate) async fn place(stage: &Stage, asker: &Asker, user: &str, area: &str) -> Uuid {
    place_in(stage, asker, user, (area, None)).await
}

/// The same, with clocks of its own.
pub(crate) async fn place_in(
    stage: &Stage,
    asker: &Asker,
    user: &str,
    (area, time_zone): (&str, Option<Tz>),
) -> Uuid {
    let id = Uuid::new_v4();
    let facts = LocationFacts {
        time_zone,
        position: Some(HOME),
        zone_id: Some("NO1".to_owned()),
        area_id: Some(area.to_owned()),
    };
    let (client_id, user_id) = (asker.id.clone(), user.to_owned());
    let location = Location { id, client_id, user_id, facts };
    let user = NewUser { id: user.to_owned(), accounts: Vec::new(), locations: vec![location] };
    connect(&stage.app, &asker.id, vec![user]).await.unwrap();
    id
}

/// A charger of a user at a place, read once.
pub(crate) async fn charger_at(stage: &Stage, asker: &Asker, user: &str, place: Uuid) -> Uuid {
    let id = stage.live(asker, user, reading(&charger())).await;
    let put = json!({ "chargingLocationId": place });
    assert_eq!(asker.put(&format!("/chargers/{id}"), &put).await.status, 200);
    id
}

pub(crate) async fn stage_with(on: On, cents: &[i32]) -> (Stage, Arc<Book>, Asker) {
    let stage = Stage::with(on, |_| ()).await;
    let book = Arc::new(Book::default());
    book.set("north", cents);
    stage.app.set_price_book(Arc::clone(&book) as _);
    let asker = stage.client("a").await;
    (stage, book, asker)
}
