//! Absences of a car and their distances.
use chrono::{DateTime, Datelike, Days, NaiveDate, TimeDelta, Utc};
use chrono_tz::Tz;

use crate::chance::Chance;
use slackwater_engine::time::civil::{instant_of, local_of};
use slackwater_engine::time::hour_minute::HourMinute;

/// Speed of driving, in km/h.
const SPEED_KM_H: f64 = 50.0;

/// Number of days searched for the next trip: two weeks and a day, so that a trip on one weekday
/// is found on any day.
const DAYS_AHEAD: u64 = 15;

/// Weekly trip.
#[derive(Debug, Clone, PartialEq)]
pub struct Trip {
    /// Weekdays from 0 (Monday) to 6 (Sunday); `None` is every day.
    pub weekdays: Option<Vec<u8>>,
    /// Time of departure, on the clocks at home.
    pub leave: HourMinute,
    /// Time of return; if not after `leave`, it is on the next day.
    pub back: HourMinute,
    /// Distance of the round trip.
    pub distance_km: f64,
}

/// All trips of a car.
#[derive(Debug, Clone, PartialEq)]
pub struct Habits {
    /// The trips; of two at the same time the earlier in the list is made.
    pub trips: Vec<Trip>,
    /// Random deviation of departure and return, in minutes.
    pub jitter_minutes: u16,
    /// Time zone of the trips.
    pub time_zone: Tz,
}

/// Trip on a certain day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outing {
    /// Departure from home.
    pub leave: DateTime<Utc>,
    /// Arrival at the destination.
    pub arrive: DateTime<Utc>,
    /// Departure from the destination.
    pub depart: DateTime<Utc>,
    /// Arrival at home.
    pub back: DateTime<Utc>,
    /// Distance of the round trip.
    pub distance_km: f64,
}

impl Habits {
    /// First outing that ends after `after`; it may have begun. `None` if there is no trip at
    /// all.
    #[must_use]
    pub fn outing(&self, chance: Chance, after: DateTime<Utc>) -> Option<Outing> {
        let today = local_of(after, self.time_zone).date();
        let first = today.checked_sub_days(Days::new(2)).unwrap_or(today);
        let dates = (0..DAYS_AHEAD).filter_map(|days| first.checked_add_days(Days::new(days)));
        let outings = dates.flat_map(|date| self.outings_on(date, chance));
        outings.filter(|outing| outing.back > after).min_by_key(|outing| outing.leave)
    }

    fn outings_on(&self, date: NaiveDate, chance: Chance) -> impl Iterator<Item = Outing> + '_ {
        let weekday = date.weekday().num_days_from_monday() as u8;
        let made = move |trip: &&Trip| {
            trip.weekdays.as_ref().is_none_or(|weekdays| weekdays.contains(&weekday))
        };
        let chance = chance.of("trips").at(date.num_days_from_ce().into());
        let numbered = self.trips.iter().enumerate().filter(move |(_, trip)| made(trip));
        numbered.map(move |(index, trip)| self.outing_of(trip, date, chance.at(index as i64)))
    }

    fn outing_of(&self, trip: &Trip, date: NaiveDate, chance: Chance) -> Outing {
        let jitter = f64::from(self.jitter_minutes);
        let late = |name: &str| {
            TimeDelta::seconds((chance.of(name).between(-jitter, jitter) * 60.0) as i64)
        };
        let next_day = u64::from(trip.back <= trip.leave);
        let back_date = date.checked_add_days(Days::new(next_day)).unwrap_or(date);
        let leave = instant_of(date.and_time(trip.leave.time()), self.time_zone) + late("leave");
        let back = instant_of(back_date.and_time(trip.back.time()), self.time_zone) + late("back");
        // However late it leaves, the way there and back takes a minute.
        let back = back.max(leave + TimeDelta::minutes(1));
        let way = TimeDelta::seconds((trip.distance_km / 2.0 / SPEED_KM_H * 3600.0) as i64);
        let way = way.min((back - leave) / 2);
        Outing {
            leave,
            arrive: leave + way,
            depart: back - way,
            back,
            distance_km: trip.distance_km,
        }
    }
}

impl Outing {
    /// Kilometres from home at an instant.
    #[must_use]
    pub fn away_km(&self, at: DateTime<Utc>) -> f64 {
        let way = (self.arrive - self.leave).as_seconds_f64();
        let gone = (at - self.leave).as_seconds_f64().min((self.back - at).as_seconds_f64());
        let share = if way > 0.0 { (gone / way).clamp(0.0, 1.0) } else { 1.0 };
        if gone > 0.0 { share * self.distance_km / 2.0 } else { 0.0 }
    }

    /// Kilometres driven at an instant.
    #[must_use]
    pub fn driven_km(&self, at: DateTime<Utc>) -> f64 {
        if at <= self.depart { self.away_km(at) } else { self.distance_km - self.away_km(at) }
    }

    /// Next of the outing's four instants after `at`.
    #[must_use]
    pub fn next(&self, at: DateTime<Utc>) -> Option<DateTime<Utc>> {
        [self.leave, self.arrive, self.depart, self.back].into_iter().find(|&instant| instant > at)
    }

    /// Returns true if the car is driving.
    #[must_use]
    pub fn is_driving(&self, at: DateTime<Utc>) -> bool {
        (self.leave <= at && at < self.arrive) || (self.depart <= at && at < self.back)
    }

    /// Returns true if the car has left and has not returned.
    #[must_use]
    pub fn is_away(&self, at: DateTime<Utc>) -> bool {
        self.leave <= at && at < self.back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn habits(trips: &[(&str, &str, Option<Vec<u8>>)], jitter_minutes: u16) -> Habits {
        let time = |text| HourMinute::parse(text).unwrap();
        let trips = trips.iter().map(|(leave, back, weekdays)| Trip {
            weekdays: weekdays.clone(),
            leave: time(leave),
            back: time(back),
            distance_km: 40.0,
        });
        let time_zone = chrono_tz::Europe::Berlin;
        Habits { trips: trips.collect(), jitter_minutes, time_zone }
    }

    #[test]
    fn trips_follow_the_clocks_at_home_over_a_change() {
        let habits = habits(&[("07:30", "17:00", None)], 0);
        let chance = Chance::seeded(1);
        let saturday = habits.outing(chance, utc("2026-03-28T00:00:00Z")).unwrap();
        assert_eq!(saturday.leave, utc("2026-03-28T06:30:00Z"));
        assert_eq!(saturday.arrive, utc("2026-03-28T06:54:00Z"));
        let sunday = habits.outing(chance, saturday.back).unwrap();
        assert_eq!(
            (sunday.leave, sunday.back),
            (utc("2026-03-29T05:30:00Z"), utc("2026-03-29T15:00:00Z"))
        );
    }

    #[test]
    fn a_night_shift_and_a_day_of_the_week() {
        let habits = habits(&[("22:00", "06:00", Some(vec![4]))], 0);
        let chance = Chance::seeded(1);
        let under_way = habits.outing(chance, utc("2026-01-10T00:00:00Z")).unwrap();
        assert_eq!(under_way.leave, utc("2026-01-09T21:00:00Z"));
        assert!(under_way.is_away(utc("2026-01-10T00:00:00Z")));
        let next = habits.outing(chance, under_way.back).unwrap();
        assert_eq!(next.leave, utc("2026-01-16T21:00:00Z"));
        assert_eq!(Habits { trips: vec![], ..habits }.outing(chance, next.back), None);
    }

    #[test]
    fn way_there_and_way_back() {
        let chance = Chance::seeded(1);
        let outing =
            habits(&[("08:00", "12:00", None)], 0).outing(chance, utc("2026-01-05T00:00:00Z"));
        let outing = outing.unwrap();
        let km = |minute: i64| {
            let at = outing.leave + TimeDelta::minutes(minute);
            (outing.away_km(at), outing.driven_km(at), outing.is_driving(at))
        };
        assert_eq!(km(-1), (0.0, 0.0, false));
        assert_eq!(km(12), (10.0, 10.0, true));
        assert_eq!(km(120), (20.0, 20.0, false));
        assert_eq!(km(228), (10.0, 30.0, true));
        assert_eq!(km(240), (0.0, 40.0, false));
        assert_eq!(km(500), (0.0, 40.0, false));
    }

    #[test]
    fn people_are_early_or_late_but_never_back_before_they_leave() {
        let habits = habits(&[("08:00", "08:20", None)], 30);
        let chance = Chance::seeded(3);
        let mut at = utc("2026-01-05T00:00:00Z");
        let mut minutes = std::collections::BTreeSet::new();
        for _ in 0..100 {
            let outing = habits.outing(chance, at).unwrap();
            assert!(outing.back > outing.leave && outing.back > at);
            assert!(outing.arrive <= outing.depart);
            minutes.insert(outing.leave.timestamp() / 60 % 1440);
            at = outing.back;
        }
        assert!(minutes.len() > 30, "{minutes:?}");
    }
}
