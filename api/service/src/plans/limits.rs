//! Plans of an area within the power that its devices share.
#[cfg(not(feature = "lp"))]
pub(crate) use refused::plan_within;

/// Without linear programmes there is no limit: the settings refuse one.
#[cfg(not(feature = "lp"))]
mod refused {
    use std::sync::Arc;

    use slackwater_engine::shared_supply::SharedLimit;

    use crate::queue::plans::Due;
    use crate::state::App;
    use slackwater_store::error::StoreError;
    use slackwater_store::jobs::AreaJob;

    pub(crate) async fn plan_within(
        _app: &App,
        _job: &AreaJob,
        due: &[Due],
        _limit: Arc<SharedLimit>,
    ) -> Result<usize, StoreError> {
        std::future::ready(Ok(due.len())).await
    }
}

#[cfg(feature = "lp")]
pub(crate) use coordinated::plan_within;

#[cfg(feature = "lp")]
mod coordinated {
    use std::collections::{BTreeMap, HashMap};
    use std::sync::Arc;

    use chrono::{DateTime, Utc};
    use slackwater_engine::area::AreaOptions;
    use slackwater_engine::plan::charge::ChargeProblem;
    use slackwater_engine::plan::record::{PlanRecord, PlanRequest};
    use slackwater_engine::prices::curve::PriceCurve;
    use slackwater_engine::shared_supply::{
        SharedLimit, SharedPower, SharedWish, plan_within_capacity as plan_shared,
    };
    use slackwater_engine::units::Power;
    use tracing::error;
    use uuid::Uuid;

    use crate::plans::area::{begin_leased, commit_plans, count_planned};
    use crate::plans::making::{self, DeviceRequest, PlannedDevices, ask_all, finish};
    use crate::plans::planner::{TURN, plan_now};
    use crate::plans::pricing::Pricer;
    use crate::queue::plans::Due;
    use crate::state::App;
    use slackwater_store::error::StoreError;
    use slackwater_store::jobs::AreaJob;
    use slackwater_store::plans::{KeptPlan, PriceSheet};

    /// A wish that takes part in the coordination.
    struct Member {
        device_id: Uuid,
        wish: PlanRequest,
        problem: ChargeProblem,
        sheet: Arc<PriceSheet>,
        power: Power,
        is_on: bool,
    }

    /// Plans for all devices of an area together. Returns for how many, fewer
    /// than there are if somebody else took over.
    pub(crate) async fn plan_within(
        app: &App,
        job: &AreaJob,
        due: &[Due],
        limit: Arc<SharedLimit>,
    ) -> Result<usize, StoreError> {
        let now = app.now();
        let mut pricer = Pricer::new(app, now);
        let asked = ask_all(app, &mut pricer, due, now);
        let members: Vec<Member> =
            asked.into_iter().filter_map(|asked| member(app, asked, now)).collect();
        let work = move || planned_together(members, &limit);
        let together = tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| {
            error!(%panic, "the coordination of an area failed");
            HashMap::new()
        });
        let mut planned = 0;
        for due in due.chunks(TURN) {
            let Some(mut change) = begin_leased(app, job).await? else { return Ok(planned) };
            // What changed meanwhile is planned alone, and asks for the area anew.
            let asked = ask_all(app, &mut pricer, due, now);
            let is_as_before =
                |asked: &DeviceRequest| match (&asked.wish, together.get(&asked.device_id())) {
                    (Ok(wish), Some(planned)) => *wish == planned.wish,
                    (Err(_), None) => true,
                    _ => false,
                };
            let (same, other): (Vec<DeviceRequest>, Vec<DeviceRequest>) =
                asked.into_iter().partition(is_as_before);
            let places: BTreeMap<usize, PlanRecord> = same
                .iter()
                .enumerate()
                .filter_map(|(at, asked)| Some((at, together.get(&asked.device_id())?.clone())))
                .collect();
            let rows = finish(same, places, now);
            making::keep_plans(change.connection(), &rows).await?;
            let made = PlannedDevices {
                plans: rows.into_iter().map(|(plan, _)| plan).collect(),
                ..PlannedDevices::default()
            };
            commit_plans(app, change, made).await?;
            let other: Vec<Due> = other.iter().map(DeviceRequest::due).collect();
            plan_now(app, &other).await?;
            planned += due.len();
            count_planned(app, due.len());
        }
        Ok(planned)
    }

    fn member(app: &App, asked: DeviceRequest, now: DateTime<Utc>) -> Option<Member> {
        let device_id = asked.device_id();
        let power = asked.power(app)?;
        let before = asked.previous().and_then(KeptPlan::planned).map(|planned| &planned.summary);
        let is_on = asked.ready.counting.known.is_on(before, now);
        let wish = asked.wish.ok()?;
        let problem = wish.problem().ok()?;
        Some(Member { device_id, problem, wish, sheet: asked.sheet?, power, is_on })
    }

    fn planned_together(members: Vec<Member>, limit: &SharedLimit) -> HashMap<Uuid, PlanRecord> {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut curves: Vec<PriceCurve> = Vec::new();
        for member in &members {
            places.entry(&*member.sheet.id).or_insert_with(|| {
                curves.push(member.sheet.prices.curve().clone());
                curves.len() - 1
            });
        }
        let options = AreaOptions::default();
        let plan = {
            let wishes = members.iter().map(|member| SharedWish {
                problem: &member.problem,
                curve: places[&*member.sheet.id],
                power: member.power,
                is_on: member.is_on,
            });
            let wishes: Vec<SharedWish<'_>> = wishes.collect();
            let power = SharedPower::with_headroom(limit.clone());
            plan_shared(&curves, &wishes, &power, &options)
        };
        let briefs = plan.unwrap_or_else(|error| {
            error!(%error, "an area makes no sense");
            Vec::new()
        });
        let planned = members.into_iter().zip(briefs).filter_map(|(member, brief)| {
            let planned =
                PlanRecord { is_shared: true, ..PlanRecord::cheapest(member.wish, brief?) };
            Some((member.device_id, planned))
        });
        planned.collect()
    }
}
