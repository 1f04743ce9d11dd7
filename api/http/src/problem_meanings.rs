//! Meaning of each kind of problem, for the OpenAPI document.
use crate::problem::{
    BAD_ANSWER, BAD_REQUEST, CONFLICT, CONTROLLED, CREDENTIALS, DO_NOT_DISTURB, FAILED_CHALLENGE,
    FAILED_DEPENDENCY, FORBIDDEN, Kind, MEDIA_TYPE, NO_ENTITY, NO_METHOD, NO_ROUTE,
    NOT_YET_REACHED, RATE_LIMITED, SERVER_ERROR, TIMEOUT, TOO_LONG, UNAUTHORIZED, UNAVAILABLE,
    VENDOR_RATE_LIMITED, VENDOR_REJECTED, VENDOR_UNAVAILABLE,
};

/// Every kind of problem by its status, with its meaning and the reaction to it.
const MEANINGS: [(Kind, &str); 23] = [
    (BAD_REQUEST, "the request cannot be used: see `issues`; do not repeat it as it is"),
    (UNAUTHORIZED, "the token is missing, wrong or has run out: take a new one"),
    (FAILED_CHALLENGE, "the manufacturer did not accept the user's log-in"),
    (FORBIDDEN, "the owner did not grant the scope, or a limit of connections is reached"),
    (NO_ENTITY, "there is no such device, user, policy or action of this client"),
    (NO_ROUTE, "there is no such path"),
    (NO_METHOD, "the path takes other methods"),
    (VENDOR_UNAVAILABLE, "the manufacturer does not answer: try later"),
    (
        TIMEOUT,
        "the manufacturer did not answer in time, or the body of the request came too slowly: try later",
    ),
    (VENDOR_REJECTED, "the manufacturer refused the command"),
    (DO_NOT_DISTURB, "the device sleeps, and is not woken for this"),
    (CONFLICT, "the action has ended, and cannot be cancelled any more"),
    (TOO_LONG, "the body is too long"),
    (MEDIA_TYPE, "the body is not JSON"),
    (CONTROLLED, "a schedule or smart charging controls the device, and refuses commands by hand"),
    (NOT_YET_REACHED, "the device was linked, and not read yet: try later"),
    (CREDENTIALS, "the user has to link the device again (`POST /assets/{assetId}/relink`)"),
    (FAILED_DEPENDENCY, "some reads from manufacturers failed"),
    (RATE_LIMITED, "too many requests: wait as long as `Retry-After` says"),
    (
        VENDOR_RATE_LIMITED,
        "too many requests for the manufacturer: wait as long as `Retry-After` says",
    ),
    (SERVER_ERROR, "a defect of the service; its log has the cause"),
    (BAD_ANSWER, "what is stored does not fit the answer"),
    (
        UNAVAILABLE,
        "the service stops, or its database does not answer: wait as long as `Retry-After` says",
    ),
];

/// Table of all kinds of problems in Markdown.
pub(crate) fn write_table() -> String {
    let rows = MEANINGS.map(|((status, _, title), meaning)| {
        format!("| {} | {title} | {meaning} |", status.as_u16())
    });
    format!("| Status | Title | Meaning, and what to do |\n|---|---|---|\n{}", rows.join("\n"))
}

/// Titles of all kinds of problems.
pub(crate) fn titles() -> Vec<String> {
    MEANINGS.map(|((_, _, title), _)| title.to_owned()).to_vec()
}

/// Problems with a status that an operation can answer, each by its title and its meaning. Of those
/// that come from manufacturers, an operation has some only if it `reads_device`: the manufacturer of
/// a device may be asked before it answers.
pub(crate) fn describe_status(status: &str, reads_device: bool) -> String {
    let own = MEANINGS.iter().filter(|((code, ..), _)| code.as_str() == status);
    let own = own.filter(|(kind, _)| is_answered(*kind, reads_device));
    let sentences: Vec<String> =
        own.map(|((_, _, title), meaning)| format!("{title}: {meaning}.")).collect();
    sentences.join(" ")
}

/// Returns `true` if an operation that can answer the status can have this kind of problem.
fn is_answered(kind: Kind, reads_device: bool) -> bool {
    match kind {
        // Of paths that are no operation, and of log-ins.
        NO_ROUTE | NO_METHOD | FAILED_CHALLENGE => false,
        VENDOR_REJECTED | DO_NOT_DISTURB | NOT_YET_REACHED | CREDENTIALS | VENDOR_RATE_LIMITED => {
            reads_device
        }
        CONFLICT | FAILED_DEPENDENCY => !reads_device,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_in_the_order_of_their_statuses_each_once() {
        let statuses = MEANINGS.map(|((status, ..), _)| status.as_u16());
        assert!(statuses.is_sorted());
        let mut titles = titles();
        titles.sort_unstable();
        titles.dedup();
        assert_eq!(titles.len(), MEANINGS.len());
    }

    #[test]
    fn reads_and_cancellations_have_other_conflicts() {
        let cancels = describe_status("409", false);
        assert_eq!(cancels, "Conflict: the action has ended, and cannot be cancelled any more.");
        let reads = describe_status("409", true);
        assert!(reads.starts_with("Vendor Rejected: ") && reads.contains(" Should Not Disturb: "));
        assert_eq!(describe_status("418", true), "");
    }
}
