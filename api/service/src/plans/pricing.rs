//! Prices for plans: each place's own, and one sheet for all that are alike.
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use slackwater_control::policy::ask::price_window;
use slackwater_engine::prices::resolve::ResolvedPrices;

use crate::cache::price_lookup::{PriceBook, Priced, Purpose};
use crate::state::App;
use slackwater_store::locations::Location;
use slackwater_store::plans::PriceSheet;

/// Sheets of prices for plans that are made together.
#[derive(Debug)]
pub struct Pricer {
    app: App,
    window: (DateTime<Utc>, DateTime<Utc>),
    /// Sheets by a quick hash of what they hold; of one hash there may be several.
    sheets: HashMap<u64, Vec<Arc<PriceSheet>>>,
    /// Sheets by what places share.
    shared: HashMap<(Purpose, String), Arc<PriceSheet>>,
}

impl Pricer {
    /// Prices for plans made `now`.
    #[must_use]
    pub fn new(app: &App, now: DateTime<Utc>) -> Self {
        Self {
            app: app.clone(),
            window: price_window(now),
            sheets: HashMap::new(),
            shared: HashMap::new(),
        }
    }

    /// The sheet of a place. Places with the same prices share one.
    pub fn sheet(&mut self, location: &Location, purpose: Purpose) -> Arc<PriceSheet> {
        let book = self.app.price_book();
        let Some(name) = book.alike(location) else {
            return self.own_sheet(&*book, location, purpose);
        };
        if let Some(sheet) = self.shared.get(&(purpose, name.clone())) {
            return Arc::clone(sheet);
        }
        let sheet = self.own_sheet(&*book, location, purpose);
        self.shared.insert((purpose, name), Arc::clone(&sheet));
        sheet
    }

    fn own_sheet(
        &mut self,
        book: &dyn PriceBook,
        location: &Location,
        purpose: Purpose,
    ) -> Arc<PriceSheet> {
        let Priced { prices, currency } = book.resolved(location, purpose, self.window);
        let alike = self.sheets.entry(quick_hash(&prices)).or_default();
        let same = alike.iter().find(|s| s.prices == prices && s.currency == currency);
        if let Some(same) = same {
            return Arc::clone(same);
        }
        let sheet = Arc::new(sheet(prices, currency));
        alike.push(Arc::clone(&sheet));
        sheet
    }
}

fn quick_hash(prices: &ResolvedPrices) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (slot, price) in prices.slots().zip(prices.curve().prices()) {
        (slot.slot.start, slot.slot.end, price.to_bits(), slot.source.as_str()).hash(&mut hasher);
    }
    hasher.finish()
}

fn sheet(prices: ResolvedPrices, currency: String) -> PriceSheet {
    let text = serde_json::to_string(&prices).expect("names and finite numbers have a JSON form");
    let mut hasher = Sha256::new();
    hasher.update(&currency);
    hasher.update(&text);
    let id = URL_SAFE_NO_PAD.encode(hasher.finalize());
    PriceSheet { id: id.into(), currency, prices, text }
}
