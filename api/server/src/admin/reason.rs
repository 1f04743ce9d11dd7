//! Reasons why a member of a body is refused, in the words of JSON in place of those of serde.

/// Texts of chrono about an instant that it cannot read.
const NO_INSTANT: [&str; 6] = [
    "input is out of range",
    "no possible date and time matching input",
    "input is not enough for unique date and time",
    "input contains invalid characters",
    "premature end of input",
    "trailing input",
];

/// Reason in words of JSON. A reason that is not serde's stays as it is.
pub(crate) fn describe_reason(reason: &str) -> String {
    if NO_INSTANT.contains(&reason) {
        return "expected an instant with an offset, such as 2026-01-05T18:00:00Z".to_owned();
    }
    if reason.starts_with("UUID parsing failed") {
        return "expected an identifier (UUID)".to_owned();
    }
    if let Some(name) = reason.strip_prefix("missing field ") {
        return format!("{name} is required");
    }
    for (opening, is) in
        [("unknown variant ", "is not known"), ("unknown field ", "is not a member")]
    {
        let told = reason.strip_prefix(opening).and_then(|told| told.split_once(", expected "));
        if let Some((name, known)) = told {
            return format!("{name} {is}; expected {known}");
        }
    }
    let mismatch = ["invalid type: ", "invalid value: "];
    let told = mismatch.iter().find_map(|opening| reason.strip_prefix(opening));
    match told.and_then(|told| told.rsplit_once(", expected ")) {
        Some((_, "map with a single key")) => {
            "expected an object with one member, and this one has none or several".to_owned()
        }
        Some((_, "newtype variant")) => {
            "expected an object with one member, which gives it a value".to_owned()
        }
        Some((found, expected)) => {
            format!("expected {}, found {}", name_expected(expected), name_found(found))
        }
        None => reason.to_owned(),
    }
}

fn name_expected(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of 0 or more",
        "i16" | "i32" | "i64" => "a whole number",
        "string or map" => "a string, or an object with one member",
        "a map" => "an object",
        "a sequence" => "an array",
        "a boolean" => "true or false",
        "unit" => "null",
        "an RFC 3339 formatted date and time string" => {
            "an instant with an offset, such as 2026-01-05T18:00:00Z"
        }
        name if name.starts_with("struct ") => "an object",
        name if name.starts_with("tuple ") => "an array",
        name => name,
    }
}

fn name_found(found: &str) -> &str {
    match found {
        "map" => "an object",
        "sequence" => "an array",
        "unit value" => "null",
        _ => match found.split_once(' ') {
            Some(("boolean" | "integer" | "string", value)) => value.trim_matches('`'),
            Some(("floating", value)) => value.trim_start_matches("point ").trim_matches('`'),
            _ => found,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_words_of_json() {
        for (reason, expected) in [
            ("missing field `limit_kw`", "`limit_kw` is required"),
            ("unknown field `a`, expected `b` or `c`", "`a` is not a member; expected `b` or `c`"),
            (
                "unknown variant `a`, expected one of `b`, `c`, `d`",
                "`a` is not known; expected one of `b`, `c`, `d`",
            ),
            ("invalid type: string \"4\", expected f64", "expected a number, found \"4\""),
            (
                "invalid value: integer `-1`, expected u32",
                "expected a whole number of 0 or more, found -1",
            ),
            (
                "invalid type: floating point `1.5`, expected u32",
                "expected a whole number of 0 or more, found 1.5",
            ),
            ("invalid type: null, expected struct Room", "expected an object, found null"),
            ("invalid type: map, expected a sequence", "expected an array, found an object"),
            ("invalid type: boolean `true`, expected a string", "expected a string, found true"),
            (
                "invalid value: map, expected map with a single key",
                "expected an object with one member, and this one has none or several",
            ),
            (
                "invalid type: unit variant, expected newtype variant",
                "expected an object with one member, which gives it a value",
            ),
            (
                "input contains invalid characters",
                "expected an instant with an offset, such as 2026-01-05T18:00:00Z",
            ),
            ("1e9 kW is beyond 1e7", "1e9 kW is beyond 1e7"),
        ] {
            assert_eq!(describe_reason(reason), expected);
        }
    }
}
