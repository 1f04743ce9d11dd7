//! Pure function from the body of a request to that of its answer.
use std::collections::BTreeMap;

use serde::Serialize;
use slackwater_engine::plan::evcc::{EvccRequest, explain, plan_evcc};

/// Answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Status of HTTP.
    pub status: u16,
    /// JSON.
    pub body: Vec<u8>,
    /// A sentence per step and battery that is not idle; empty for a refusal.
    pub reasons: Vec<String>,
}

/// Refusal in the form of the contract.
#[derive(Debug, Serialize)]
struct Refusal {
    message: String,
    /// Faults by the path of their field.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    details: BTreeMap<String, String>,
}

/// Answers the body of a request. Equal bodies have equal answers, byte by byte, unless
/// `seconds_left` ends a search: the schedule then has the status `Feasible`.
///
/// # Example
///
/// A field that the contract does not have:
///
/// ```
/// use slackwater_evcc::answer::answer;
/// let refused = answer(br#"{"batteries": [], "horizon": 3}"#, None);
/// assert_eq!(refused.status, 400);
/// assert!(String::from_utf8_lossy(&refused.body).contains("unknown field `horizon`"));
/// ```
#[must_use]
pub fn answer(body: &[u8], seconds_left: Option<&dyn Fn() -> f64>) -> Answer {
    let request = match read_request(body) {
        Ok(request) => request,
        Err(refusal) => return write_refusal(400, &refusal),
    };
    match plan_evcc(&request, seconds_left) {
        Ok(schedule) => {
            let reasons = explain(&request, &schedule);
            write_answer(200, &schedule, reasons)
        }
        Err(error) => {
            let details = BTreeMap::from([(error.field().to_owned(), error.to_string())]);
            write_refusal(400, &Refusal { message: error.to_string(), details })
        }
    }
}

/// Refusal without the path of a field.
#[must_use]
pub fn refuse(status: u16, message: &str) -> Answer {
    write_refusal(status, &Refusal { message: message.to_owned(), details: BTreeMap::new() })
}

fn read_request(body: &[u8]) -> Result<EvccRequest, Refusal> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let request = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string().replace('[', ".").replace(']', "");
        let fault = error.into_inner().to_string();
        let is_whole = path == ".";
        let message = if is_whole { fault.clone() } else { format!("{path}: {fault}") };
        let details = if is_whole { BTreeMap::new() } else { BTreeMap::from([(path, fault)]) };
        Refusal { message, details }
    })?;
    json.end().map_err(|error| Refusal { message: error.to_string(), details: BTreeMap::new() })?;
    Ok(request)
}

fn write_refusal(status: u16, refusal: &Refusal) -> Answer {
    write_answer(status, refusal, Vec::new())
}

fn write_answer(status: u16, value: &impl Serialize, reasons: Vec<String>) -> Answer {
    match serde_json::to_vec(value) {
        Ok(body) => Answer { status, body, reasons },
        // Numbers and names of the contract are always JSON.
        Err(_) => Answer {
            status: 500,
            body: br#"{"message":"the answer is no JSON"}"#.to_vec(),
            reasons: Vec::new(),
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An hour with sun for a battery that takes it.
    fn request() -> Value {
        json!({
            "batteries": [{
                "s_min": 0, "s_max": 5000, "s_initial": 0, "c_min": 0, "c_max": 2000,
                "d_max": 0, "p_a": 0.0002
            }],
            "time_series": {
                "dt": [3600], "gt": [500], "ft": [2000], "p_N": [0.0003], "p_E": [0.00008]
            },
            "eta_c": 1, "eta_d": 1
        })
    }

    fn answered(change: impl Fn(&mut Value)) -> (u16, Value) {
        let mut value = request();
        change(&mut value);
        let answer = answer(&serde_json::to_vec(&value).unwrap(), None);
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }

    #[test]
    fn a_schedule_has_all_fields_of_the_contract() {
        let (status, body) = answered(|_| {});
        assert_eq!(status, 200);
        let expected = json!({
            "status": "Optimal",
            // 1,500 Wh at 0.0002.
            "objective_value": 0.3,
            "limit_violations": {
                "grid_import_limit_exceeded": false, "grid_export_limit_hit": false
            },
            "batteries": [{
                "charging_power": [1500.0], "discharging_power": [0.0],
                "state_of_charge": [1500.0]
            }],
            "grid_import": [0.0], "grid_export": [0.0], "flow_direction": [1],
            "grid_import_overshoot": [], "grid_export_overshoot": []
        });
        assert_eq!(body, expected);
        let reasons = answer(&serde_json::to_vec(&request()).unwrap(), None).reasons;
        assert_eq!(reasons, ["step 0: battery 0 charges 1500 Wh: the energy is surplus"]);
    }

    #[test]
    fn a_refusal_names_the_path_of_the_field() {
        let (status, body) = answered(|value| value["batteries"][0]["c_max"] = json!("fast"));
        assert_eq!(status, 400);
        let fault = body["details"]["batteries.0.c_max"].as_str().unwrap();
        assert!(fault.contains("invalid type: string \"fast\""), "{body}");
        let (status, body) = answered(|value| value["time_series"]["gt"] = json!([1, 2]));
        assert_eq!(status, 400);
        let message = "time_series.gt has 2 values; time_series.dt has 1, one for each step";
        assert_eq!(body, json!({"message": message, "details": {"time_series.gt": message}}));
        let (status, body) = answered(|value| value["batteries"][0]["solar_hold_pct"] = json!(0.7));
        assert_eq!(status, 400);
        assert!(body["message"].as_str().unwrap().contains("solar_hold_pct"), "{body}");
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for body in [&b"{"[..], b"", b"[]", b"{} {}"] {
            let answer = answer(body, None);
            assert_eq!(answer.status, 400, "{body:?}");
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert!(body["message"].is_string(), "{body}");
        }
    }
}
