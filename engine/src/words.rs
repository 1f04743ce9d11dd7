//! Enums whose variants are words in serialised data.

/// Defines an enum of variants without data, each with its word in serialised data.
///
/// The word of a variant is written once. From it come the `rename` of serde, the method
/// `as_str`, and the list `ALL` of variants in the order of the definition. The attributes of
/// the enum derive `Clone`, `Copy`, `Serialize` and `Deserialize`, among others.
///
/// # Example
///
/// ```text
/// words! {
///     /// Charging, on or off.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
///     pub enum Switch {
///         /// Start charging.
///         Start = "start",
///         /// Stop charging.
///         Stop = "stop",
///     }
/// }
///
/// assert_eq!(Switch::Start.as_str(), "start");
/// assert_eq!(Switch::ALL, [Switch::Start, Switch::Stop]);
/// assert_eq!(serde_json::to_string(&Switch::Stop).unwrap(), "\"stop\"");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! words {
    (
        $(#[$of_enum:meta])*
        pub enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$of_enum])*
        pub enum $name {
            $($(#[$of_variant])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All variants, in the order of their definition.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Word of the variant in serialised data.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

pub(crate) use words;

#[cfg(test)]
mod tests {
    use crate::plan::SearchStatus;

    #[test]
    fn a_word_is_the_same_in_code_and_in_data() {
        assert_eq!(SearchStatus::ALL.map(SearchStatus::as_str)[..2], ["optimal", "limit_reached"]);
        for status in SearchStatus::ALL {
            let json = format!("{:?}", status.as_str());
            assert_eq!(serde_json::to_string(&status).unwrap(), json);
            assert_eq!(serde_json::from_str::<SearchStatus>(&json).unwrap(), status);
        }
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_words_that_exist() {
        let refused = serde_json::from_str::<SearchStatus>("\"Optimal\"").unwrap_err().to_string();
        let expected = "unknown variant `Optimal`, expected one of `optimal`, `limit_reached`";
        assert!(refused.starts_with(expected), "{refused}");
    }
}
