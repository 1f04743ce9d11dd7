//! Errors of the service as problems: the one table from what failed to an answer.
//!
//! Nothing below this file knows a status code. A match has no wildcard arm, so that a new error
//! does not compile before it has a status.
use slackwater_control::device::command::Refusal;
use slackwater_control::policy::flex_issue::{DAYS, FlexField, FlexIssue, FlexIssues};
use slackwater_wire::page::list::PageError;
use slackwater_wire::version::dated::ApiVersionError;
use tracing::error;

use crate::issues::escape_name;
use crate::problem::{CONTROLLED, Problem, RATE_LIMITED};
use slackwater_service::auth::budget::BudgetSpent;
use slackwater_service::auth::secret::NoRandomness;
use slackwater_service::auth::token::IssueError;
use slackwater_service::control::orders::OrderError;
use slackwater_service::grid::orders::GridOrderError;
use slackwater_service::linking::flow::Refusal as LinkRefusal;
use slackwater_service::outbox::subscribing::SubscribeError;
use slackwater_service::plans::limit_change::LimitChangeError;
use slackwater_service::plans::patching::PolicyError;
use slackwater_service::prices::keep::{AssignError, SignalRefusal};
use slackwater_service::prices::list::ListError;
use slackwater_store::error::{LATER, StoreError};

impl From<ApiVersionError> for Problem {
    fn from(error: ApiVersionError) -> Self {
        Self::bad_request(format!("Service-Version: {error}"))
    }
}

impl From<PageError> for Problem {
    fn from(error: PageError) -> Self {
        match error {
            PageError::BothCursors => Self::bad_request(error.to_string()),
            PageError::Size { given } => {
                Self::invalid(vec![format!("/pageSize: is {given}; a page holds at least 1 item")])
            }
            PageError::Duplicate { .. } => {
                error!(%error, "a list has two items of one key");
                Self::server_error()
            }
        }
    }
}

impl From<FlexIssues> for Problem {
    fn from(FlexIssues(issues): FlexIssues) -> Self {
        let issue = |issue: &FlexIssue| format!("{}: {}", pointer_of(&issue.field), issue.fault);
        Self::invalid(issues.iter().map(issue).collect())
    }
}

impl From<LimitChangeError> for Problem {
    fn from(error: LimitChangeError) -> Self {
        match error {
            LimitChangeError::NoZone { .. } => Self::invalid(vec![format!("/zone: {error}")]),
            LimitChangeError::NoArea => Self::invalid(vec![format!("/area: {error}")]),
            LimitChangeError::Window { .. } => Self::invalid(vec![format!("/clear: {error}")]),
            LimitChangeError::NoPlans => Self::bad_request(error.to_string()),
            LimitChangeError::Usual(reason) => {
                Self::invalid(vec![format!("/power_max_kw: {reason}")])
            }
            LimitChangeError::Limit(reason) => Self::invalid(vec![format!("/periods: {reason}")]),
            LimitChangeError::Store(reason) => Self::from(reason),
        }
    }
}

impl From<GridOrderError> for Problem {
    fn from(error: GridOrderError) -> Self {
        match error {
            GridOrderError::NoSender { name } => {
                Self::no_entity(&format!("sender of grid orders {name:?}"))
            }
            GridOrderError::FromFile { .. } => Self::bad_request(error.to_string()),
            GridOrderError::Negative { .. } => Self::invalid(vec![format!("/limit_kw: {error}")]),
            GridOrderError::Past { .. } => Self::invalid(vec![format!("/until: {error}")]),
            GridOrderError::Store(reason) => Self::from(reason),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        // No wildcard arm: a new refusal must be given a status before this compiles.
        match refusal {
            Refusal::NotPermitted { .. } => Self::forbidden(refusal.to_string()),
            Refusal::Controlled { .. } => {
                Self::new(CONTROLLED, format!("{refusal}; disable it, or create a smart override"))
            }
            Refusal::OutsideRange { .. }
            | Refusal::BelowZero { .. }
            | Refusal::Incapable { .. }
            | Refusal::CannotAct { .. }
            | Refusal::FullyCharged
            | Refusal::Unauthorised
            | Refusal::AlreadyThere => Self::bad_request(refusal.to_string()),
        }
    }
}

impl From<OrderError> for Problem {
    fn from(error: OrderError) -> Self {
        match error {
            OrderError::NoSuchDevice => Self::no_entity("device"),
            OrderError::Refused(refusal) => refusal.into(),
            OrderError::Hold(error) => Self::bad_request(error.to_string()),
            OrderError::Store(error) => error.into(),
        }
    }
}

impl From<PolicyError> for Problem {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::NoPolicy => Self::no_entity("Policy"),
            PolicyError::Missing(what) => Self::no_entity(what),
            PolicyError::Flex(issues) => issues.into(),
            PolicyError::Vehicle(error) => Self::bad_request(error.to_string()),
            PolicyError::Comfort(error) => Self::bad_request(error.to_string()),
            PolicyError::Store(error) => error.into(),
        }
    }
}

impl From<SignalRefusal> for Problem {
    fn from(refusal: SignalRefusal) -> Self {
        match refusal {
            SignalRefusal::Zone(error) => Self::bad_request(error.to_string()),
            SignalRefusal::Store(error) => error.into(),
        }
    }
}

impl From<LinkRefusal> for Problem {
    fn from(refusal: LinkRefusal) -> Self {
        match refusal {
            LinkRefusal::Store(error) => error.into(),
            LinkRefusal::Limit(_) => Self::forbidden(refusal.to_string()),
            LinkRefusal::Closed | LinkRefusal::NoDevice => Self::bad_request(refusal.to_string()),
        }
    }
}

impl From<BudgetSpent> for Problem {
    fn from(spent: BudgetSpent) -> Self {
        Self::new(RATE_LIMITED, spent.to_string()).retry_after(spent.wait)
    }
}

impl From<IssueError> for Problem {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::Randomness(error) => error.into(),
            IssueError::Store(error) => error.into(),
        }
    }
}

impl From<NoRandomness> for Problem {
    fn from(error: NoRandomness) -> Self {
        error!(%error, "no secret can be made");
        Self::unavailable("try again later")
    }
}

impl From<SubscribeError> for Problem {
    fn from(error: SubscribeError) -> Self {
        match error {
            SubscribeError::Store(error) => error.into(),
            SubscribeError::Invalid(_)
            | SubscribeError::NoClient { .. }
            | SubscribeError::NoEvent { .. }
            | SubscribeError::Taken { .. } => Self::invalid(vec![format!("/{error}")]),
        }
    }
}

impl From<ListError> for Problem {
    fn from(error: ListError) -> Self {
        Self::bad_request(error.to_string())
    }
}

impl From<AssignError> for Problem {
    fn from(error: AssignError) -> Self {
        match error {
            AssignError::NoTariff { .. } => Self::no_entity("tariff"),
            AssignError::Tariff(error) => Self::bad_request(error.to_string()),
            AssignError::Store(error) => error.into(),
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        error!(%error, "the database failed");
        match (error.retry_after(), error) {
            (Some(wait), _) => Self::unavailable("try again later").retry_after(wait),
            (None, StoreError::Corrupt { .. }) => Self::bad_answer(),
            (None, _) => Self::server_error(),
        }
    }
}

/// JSON pointer of a field in the body of a change.
fn pointer_of(field: &FlexField) -> String {
    match field {
        FlexField::Reserve => "/batteryReserve".to_owned(),
        FlexField::ObservedLimit => "/lastObservedLocationChargeLimit".to_owned(),
        FlexField::Day(name) => format!("/schedule/{}", escape_name(name)),
        FlexField::Deadline(day) => format!("/schedule/{}/deadline", DAYS[*day]),
        FlexField::Target(day) => format!("/schedule/{}/minimumChargeTarget", DAYS[*day]),
    }
}

impl Problem {
    /// 503: the service is not ready for requests, because of its database.
    #[must_use]
    pub fn of_ping(failure: &StoreError) -> Self {
        error!(%failure, "the service is not ready");
        let detail = match failure {
            StoreError::Down(_) | StoreError::Queue | StoreError::Busy(_) => {
                "the database does not answer"
            }
            _ => "the database does not take writes",
        };
        Self::unavailable(detail).retry_after(LATER)
    }
}
