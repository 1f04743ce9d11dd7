//! Random sites, planned and judged.
use std::cell::RefCell;

use proptest::prelude::*;
use slackwater_engine::plan::SearchStatus;
use slackwater_engine::plan::site::{Cause, SitePlan, plan_site};

use crate::census::Census;
use crate::runner::for_all;
use crate::site::case::Site;
use crate::site::interpreter::{DUST_KWH, interpret};
use crate::site::model::{Optimum, optimum};

/// Part of all money that passes which rounding may move.
const MONEY_PART: f64 = 1e-6;

#[test]
fn no_plan_of_a_site_claims_what_is_not_so() {
    let census = RefCell::new(Census::default());
    for_all(500, &any::<u64>().no_shrink().boxed(), |seed| {
        let site = Site::draw(seed);
        let judged = judge(&site, &mut census.borrow_mut());
        judged.map_err(|rule| TestCaseError::fail(format!("seed {seed}: {rule}\n{site:#?}")))
    });
    let census = census.borrow();
    census.assert_each(0.0);
    for feature in [
        "least power",
        "misses",
        "gives back",
        "home",
        "group",
        "below zero",
        "above a charge limit",
        "drives",
        "lacks energy on the way",
        "drives and gives back",
    ] {
        assert!(census.share(feature) > 0.05, "{feature} dies out");
    }
    assert!(census.share("proved") > 0.95, "{} are proved", census.share("proved"));
    for (feature, most) in [("solver failed", 0.01), ("undecided", 0.02)] {
        assert!(census.share(feature) <= most, "{feature}: {}", census.share(feature));
    }
}

#[test]
fn no_plan_uses_the_grid_without_leave() {
    let census = RefCell::new(Census::default());
    for_all(40, &any::<u64>().no_shrink().boxed(), |seed| {
        let site = Site::draw_sunny(seed);
        let judged = judge(&site, &mut census.borrow_mut());
        judged.map_err(|rule| TestCaseError::fail(format!("seed {seed}: {rule}\n{site:#?}")))
    });
    let census = census.borrow();
    for feature in ["misses", "gives back", "home", "keeps off the grid"] {
        assert!(census.share(feature) > 0.05, "{feature} dies out");
    }
    assert!(census.share("proved") > 0.95, "{} are proved", census.share("proved"));
    for (feature, most) in [("solver failed", 0.01), ("undecided", 0.02)] {
        assert!(census.share(feature) <= most, "{feature}: {}", census.share(feature));
    }
}

/// HiGHS 1.15 cut off the optimum of this one in each search that was given
/// values to start from: 7 % less was earned than could be, and proved.
#[test]
fn a_site_with_values_to_start_from_is_searched_to_the_end() {
    let site = Site::draw(6_758_152_554_391_833_338);
    judge(&site, &mut Census::default()).unwrap();
}

fn judge(site: &Site, census: &mut Census) -> Result<(), String> {
    let plan = plan_site(&site.problem());
    let found = interpret(site, &plan)?;
    let Some(least) = optimum(site) else {
        census.count(&[("undecided", true)]);
        return Ok(());
    };
    let is_proved = plan.certificate.is_proved();
    count_features(site, &plan, &least, census);
    let highest = site.prices.iter().fold(0.0, |most: f64, price| most.max(price.abs()));
    let cent = MONEY_PART * found.turnover + DUST_KWH * highest * 10.0;
    let same = |one: f64, other: f64, by: f64| (one - other).abs() <= by;
    let check = |holds: bool, what: &str| {
        if holds { Ok(()) } else { Err(format!("{what}: {found:?}, least {least:?}, {plan:#?}")) }
    };
    check(same(plan.cost.as_amount(), found.cost, cent), "the cost does not add up")?;
    check(plan.certificate.bound.as_amount() <= found.cost + cent, "a bound above the cost")?;
    check((plan.status != SearchStatus::Optimal) || is_proved, "optimal beside an open gap")?;
    let energy = DUST_KWH * 10.0;
    check(found.lacking >= least.lacking - energy, "drives lack less than they can")?;
    let is_as_good = found.lacking <= least.lacking + energy;
    let is_less = found.missing < least.missing - energy;
    check(!is_as_good || !is_less, "less is missing than can be")?;
    if !is_proved || plan.status != SearchStatus::Optimal {
        let is_as_good = is_as_good && found.missing <= least.missing + energy;
        let bound = plan.certificate.bound.as_amount();
        return check(!is_as_good || bound <= least.cost + cent, "a bound above the optimum");
    }
    check(same(found.lacking, least.lacking, energy), "drives lack more than they must")?;
    let is_early = same(found.lacking_early, least.lacking_early, energy);
    check(is_early, "another drive than the earliest")?;
    check(same(found.missing, least.missing, energy), "more is missing than must be")?;
    check(same(found.early, least.early, energy), "another deadline than the earliest")?;
    check(same(found.late, least.late, energy), "what is missed is not gone on with")?;
    let told = site.cars.iter().zip(&plan.devices);
    let told: f64 = told.map(|(car, device)| car.priority * device.shortfall.as_kwh()).sum();
    let short = found.missing + found.lacking;
    check(same(told, short, energy), "the shortfalls do not add up")?;
    let wishes = plan.devices.iter().flat_map(|device| &device.wishes);
    let named = wishes.clone().all(|w| w.causes.is_empty() == (w.shortfall.as_kwh() <= DUST_KWH));
    check(named, "a shortfall without a cause, or a cause without a shortfall")?;
    let above = site.cars.iter().zip(&plan.devices).all(|(car, device)| {
        let most = |by: usize| car.full(car.driven(by - 1));
        let wanted = car.targets.iter().map(|&(by, wanted)| wanted - most(by) > DUST_KWH);
        let drives = car.drives.iter().enumerate();
        let drives = drives.map(|(count, drive)| drive.2 - car.full(count) > DUST_KWH);
        let told = device.wishes.iter().map(|wish| wish.causes.contains(&Cause::ChargeLimit));
        wanted.chain(drives).eq(told)
    });
    check(above, "a charge limit that is no cause, or a cause that is no charge limit")?;
    check(same(found.cost, least.cost, cent), "proved, and not the least cost")
}

fn count_features(site: &Site, plan: &SitePlan, least: &Optimum, census: &mut Census) {
    census.count(&[
        ("undecided", false),
        ("proved", plan.certificate.is_proved() && plan.status == SearchStatus::Optimal),
        ("solver failed", plan.status == SearchStatus::SolverFailed),
        ("misses", least.missing > DUST_KWH),
        (
            "keeps off the grid",
            plan.devices.iter().any(|device| {
                device.wishes.iter().any(|wish| wish.causes.contains(&Cause::NoSurplus))
            }),
        ),
        ("late", least.late > DUST_KWH),
        ("least power", site.cars.iter().any(|car| car.least_kw > 0.0)),
        ("on or off", site.cars.iter().any(|car| car.least_kw >= car.most_kw)),
        ("gives back", site.cars.iter().any(|car| car.gives_back.is_some())),
        ("home", site.home.is_some()),
        ("above a charge limit", site.cars.iter().any(|car| car.limit.is_some())),
        ("group", site.group_limit.is_some()),
        ("drives", site.cars.iter().any(|car| !car.drives.is_empty())),
        ("lacks energy on the way", least.lacking > DUST_KWH),
        (
            "drives and gives back",
            site.cars.iter().any(|car| !car.drives.is_empty() && car.gives_back.is_some()),
        ),
        ("below zero", site.prices.iter().any(|&price| price < 0.0)),
        ("ten devices", site.cars.len() >= 10),
    ]);
}
