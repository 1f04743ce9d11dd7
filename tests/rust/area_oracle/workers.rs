//! Workers that price the parts of an area elsewhere: all they are sent and all that they
//! answer passes through JSON.
use std::ops::ControlFlow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use slackwater_engine::area::distributed::{
    Assigned, Overrides, Partition, PricingRequest, SessionUpdate,
};
use slackwater_engine::area::{
    AreaNumbers, AreaOptions, AreaPlan, AreaProblem, BlockLoad, Hooks, Progress, Worker, Workers,
    plan_area_with,
};
use slackwater_engine::columns::PlanTable;

use crate::area::Area;

/// The vehicles of one part, as a worker has them.
struct Remote {
    place: Partition,
    rows: Vec<u32>,
    area: Area,
    part: Worker,
    changed: Worker,
}

/// All workers of an area, and what was sent and answered, message by message.
pub(crate) struct Cluster<'a> {
    area: &'a Area,
    wanted: usize,
    each: Vec<Remote>,
    pub(crate) said: Vec<String>,
}

impl<'a> Cluster<'a> {
    pub(crate) fn new(area: &'a Area, wanted: usize) -> Self {
        Self { area, wanted, each: Vec::new(), said: Vec::new() }
    }

    /// What arrives of a message at the other end.
    fn sent<T: Serialize + DeserializeOwned>(&mut self, message: &T) -> T {
        let text = serde_json::to_string(message).expect("a message is JSON");
        let arrived = serde_json::from_str(&text).expect("a message is read as it was written");
        self.said.push(text);
        arrived
    }

    pub(crate) fn places(&self) -> Vec<Partition> {
        self.each.iter().map(|worker| worker.place.clone()).collect()
    }

    /// The rows of a plan as the workers write them, part by part.
    pub(crate) fn rows(&mut self, plan: &AreaPlan) -> Vec<PlanTable<AreaNumbers>> {
        let (question, told) = plan.instructions(&self.places());
        let question = self.sent(&question);
        let told: Vec<(Overrides, SessionUpdate)> =
            told.iter().map(|told| self.sent(told)).collect();
        let mut written = Vec::new();
        for (worker, (own, change)) in self.each.iter().zip(&told) {
            let part = worker.part.updated(change).expect("the change is of this part");
            let (problem, asked) = (worker.area.problem(), (&question, own));
            part.rows(&problem, asked, usize::MAX, &mut |rows| written.push(rows))
                .expect("the question is of this area");
        }
        written
    }

    /// Rows of the area in the order in which workers write them.
    pub(crate) fn order(&self) -> impl Iterator<Item = u32> {
        self.each.iter().flat_map(|worker| worker.rows.iter().copied())
    }
}

impl Workers for Cluster<'_> {
    fn parts(&self) -> usize {
        self.wanted
    }

    fn assign(&mut self, shares: Vec<Assigned>) {
        for Assigned { partition: place, rows } in shares {
            let (place, area) = (self.sent(&place), self.area.taken(&rows));
            let part = Worker::new(&area.problem(), &place).expect("the rows are of the place");
            self.each.push(Remote { place, rows, area, changed: part.clone(), part });
        }
    }

    fn update(&mut self, changes: &[SessionUpdate]) {
        for (at, change) in changes.iter().enumerate() {
            let change = self.sent(change);
            let worker = &mut self.each[at];
            worker.changed = worker.part.updated(&change).expect("the change is of this part");
        }
    }

    fn price(
        &mut self,
        question: &PricingRequest,
        own: &[Overrides],
    ) -> Option<Vec<Vec<BlockLoad>>> {
        let question = self.sent(question);
        let mut answers = Vec::new();
        for (at, own) in own.iter().enumerate() {
            let own = self.sent(own);
            let worker = &self.each[at];
            let sums = worker.changed.answer(worker.area.curves(), &question, &own);
            let sums = sums.expect("the question is of this area");
            assert!(worker.place.fits(&sums, worker.area.slots()));
            answers.push(self.sent(&sums));
        }
        Some(answers)
    }
}

/// Plan of an area whose vehicles are priced by workers.
pub(crate) fn plan_by(problem: &AreaProblem<'_>, workers: &mut Cluster<'_>) -> AreaPlan {
    let mut to_the_end = |_: &Progress| ControlFlow::Continue(());
    let hooks = Hooks { workers: Some(workers), ..Hooks::new(&mut to_the_end) };
    plan_area_with(problem, &AreaOptions::default(), hooks)
}
