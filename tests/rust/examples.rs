//! Examples of serialised types, one a line, for a golden file.
use std::fmt::{Debug, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Names of examples, and their JSON.
#[derive(Default)]
pub(crate) struct Examples(pub(crate) String);

impl Examples {
    /// Adds an example, which has to be read as it was written.
    #[track_caller]
    pub(crate) fn add<T>(&mut self, name: &str, example: &T)
    where
        T: Serialize + DeserializeOwned + PartialEq + Debug,
    {
        let text = serde_json::to_string(example).expect("an example is JSON");
        let read: T = serde_json::from_str(&text).expect("an example can be read");
        assert!(read == *example, "{name} is not read as it was written: {read:?}");
        writeln!(self.0, "{name} {text}").expect("a string takes all text");
    }
}
