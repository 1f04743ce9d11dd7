//! The chain of models: where a device begins, and which models follow each other.
use std::collections::BTreeMap;

/// Addresses at which a device may begin, in the order in which they are tried.
pub const BASES: [u16; 3] = [40_000, 50_000, 0];

/// The first two registers of a device: `SunS`.
pub const MARKER: [u16; 2] = [0x5375, 0x6E53];

/// Identifier that ends the chain.
const END: u16 = 0xFFFF;

/// Models of a device, at most; a chain that goes on is none.
const MODELS_MAX: usize = 100;

/// Most registers of one request, by the Modbus Application Protocol.
const READ_MAX: u16 = 125;

/// Registers of a model that are read at most. No point of ours is beyond.
const MODEL_MAX: u16 = 160;

/// Registers of identifier and length.
const HEADER: u16 = 2;

/// Registers that are no chain of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// There is no marker.
    #[error("the device has no SunSpec registers at 40000, 50000 or 0")]
    NoMarker,
    /// A model ends beyond the last address.
    #[error(
        "model {id} at register {address} has {length} registers, more than there are addresses"
    )]
    BeyondAddresses {
        /// Identifier of the model.
        id: u16,
        /// Its first register.
        address: u16,
        /// Its length.
        length: u16,
    },
    /// The chain does not end.
    #[error("the device has more than {MODELS_MAX} models")]
    TooManyModels,
}

/// Place of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Register of its identifier.
    pub address: u16,
    /// Registers after identifier and length.
    pub length: u16,
}

impl Place {
    /// Requests that read a model, as address and number of registers.
    #[must_use]
    pub fn list_reads(self) -> Vec<(u16, u16)> {
        let all = self.length.saturating_add(HEADER).min(MODEL_MAX);
        let starts = (0..all).step_by(usize::from(READ_MAX));
        starts
            .filter_map(|start| {
                let count = READ_MAX.min(all - start);
                Some((self.address.checked_add(start)?, count))
            })
            .collect()
    }
}

/// Walk along the chain.
#[derive(Debug, Clone)]
pub struct Walk {
    next: u16,
    steps: usize,
    places: BTreeMap<u16, Place>,
}

impl Walk {
    /// A walk from the marker at `base` on.
    #[must_use]
    pub fn begin(base: u16) -> Self {
        // The bases leave room for the marker.
        Self { next: base.saturating_add(2), steps: 0, places: BTreeMap::new() }
    }

    /// Address of the next header, which has two registers.
    #[must_use]
    pub const fn header_address(&self) -> u16 {
        self.next
    }

    /// Takes a header: identifier and length. Returns `false` at the end of the chain. Of several
    /// models with one identifier the first counts.
    ///
    /// # Errors
    /// The chain leaves the addresses, or does not end.
    pub fn take_header(&mut self, [id, length]: [u16; 2]) -> Result<bool, ChainError> {
        if id == END {
            return Ok(false);
        }
        let address = self.next;
        self.steps += 1;
        if self.steps > MODELS_MAX {
            return Err(ChainError::TooManyModels);
        }
        let end = address.checked_add(HEADER).and_then(|body| body.checked_add(length));
        self.next = end.ok_or(ChainError::BeyondAddresses { id, address, length })?;
        self.places.entry(id).or_insert(Place { address, length });
        Ok(true)
    }

    /// Places of the models, by identifier.
    #[must_use]
    pub fn into_places(self) -> BTreeMap<u16, Place> {
        self.places
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_chain_is_walked_to_its_end() {
        let mut walk = Walk::begin(40_000);
        assert_eq!(walk.header_address(), 40_002);
        assert_eq!(walk.take_header([1, 66]), Ok(true));
        assert_eq!(walk.header_address(), 40_070);
        assert_eq!(walk.take_header([103, 50]), Ok(true));
        assert_eq!(walk.take_header([103, 50]), Ok(true));
        assert_eq!(walk.take_header([END, 0]), Ok(false));
        let places = walk.into_places();
        assert_eq!(places.len(), 2);
        assert_eq!(places[&103], Place { address: 40_070, length: 50 });
    }

    #[test]
    fn a_chain_that_is_none_is_refused() {
        let error = Walk::begin(50_000).take_header([9, 60_000]).unwrap_err().to_string();
        let expected =
            "model 9 at register 50002 has 60000 registers, more than there are addresses";
        assert_eq!(error, expected);
        let mut walk = Walk::begin(0);
        let steps = (0..1000).find(|_| walk.take_header([7, 0]).is_err());
        assert_eq!(steps, Some(100));
    }

    #[test]
    fn a_long_model_is_read_in_parts() {
        let reads = |length| Place { address: 40_070, length }.list_reads();
        assert_eq!(reads(50), [(40_070, 52)]);
        assert_eq!(reads(123), [(40_070, 125)]);
        assert_eq!(reads(153), [(40_070, 125), (40_195, 30)]);
        assert_eq!(reads(u16::MAX), [(40_070, 125), (40_195, 35)]);
    }

    proptest! {
        #[test]
        fn every_walk_ends(
            base in prop::sample::select(BASES.to_vec()),
            headers in prop::collection::vec(any::<[u16; 2]>(), 101..150),
        ) {
            let mut walk = Walk::begin(base);
            let mut last = walk.header_address();
            let goes_on = |walk: &mut Walk, header| matches!(walk.take_header(header), Ok(true));
            let ended = headers.into_iter().position(|header| {
                let more = goes_on(&mut walk, header);
                let moved = walk.header_address() > last;
                last = walk.header_address();
                assert_eq!(more, moved, "each model is behind the one before");
                !more
            });
            prop_assert!(ended.is_some_and(|steps| steps <= MODELS_MAX));
            for place in walk.into_places().into_values() {
                for (_, count) in place.list_reads() {
                    prop_assert!((1..=READ_MAX).contains(&count));
                }
            }
        }
    }
}
