//! Everything one run found out.

use std::thread::available_parallelism;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use super::binary::VERTEBRA;
use super::measurement::Measurement;
use super::targets::{CASES, Verdict};

#[derive(Serialize)]
pub(crate) struct Results {
    /// The day, as `2026-01-31`.
    pub(crate) date: String,
    /// The kind of machine; numbers of different machines do not compare.
    pub(crate) machine: String,
    /// What a reader of the numbers has to know: what was left out, and why.
    pub(crate) notes: Vec<String>,
    pub(crate) measurements: Vec<Measurement>,
}

impl Results {
    pub(crate) fn begin() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let cores = available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
        Self {
            date: date(since_1970.as_secs() / 86_400),
            machine: format!("{} {}, {cores} cores", std::env::consts::OS, std::env::consts::ARCH),
            notes: vec![],
            measurements: vec![],
        }
    }

    /// Adds what a pass found; if an earlier pass measured the same, the better one stays.
    pub(crate) fn add(&mut self, measured: Measurement) {
        let same = |known: &&mut Measurement| known.peer == measured.peer && known.case == measured.case;
        match self.measurements.iter_mut().find(same) {
            Some(known) => *known = known.clone().better_of(measured),
            None => self.measurements.push(measured),
        }
    }

    pub(crate) fn find(&self, peer: &str, case: &str) -> Option<&Measurement> {
        self.measurements.iter().find(|measured| measured.peer == peer && measured.case == case)
    }

    /// Those who were measured beside Vertebra, in the order they came.
    pub(crate) fn peers(&self) -> Vec<&str> {
        let mut peers = vec![];
        for measured in &self.measurements {
            let name = measured.peer.as_str();
            if name != VERTEBRA && !peers.contains(&name) {
                peers.push(name);
            }
        }
        peers
    }

    pub(crate) fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            results: &'a Results,
            targets: Vec<Judged>,
        }
        #[derive(Serialize)]
        struct Judged {
            case: &'static str,
            target: String,
            verdict: String,
        }
        let judged = CASES.iter().flat_map(|case| {
            case.targets.iter().map(|target| Judged {
                case: case.name,
                target: target.text(),
                verdict: match target.judge(case.name, self) {
                    Verdict::Met(text) | Verdict::Missed(text) => text,
                    Verdict::NotMeasured => "not measured".to_owned(),
                },
            })
        });
        let whole = Whole { results: self, targets: judged.collect() };
        Ok(serde_json::to_string_pretty(&whole)? + "\n")
    }

    #[cfg(test)]
    pub(crate) fn of(measurements: impl IntoIterator<Item = Measurement>) -> Self {
        let mut results =
            Self { date: date(0), machine: "linux, 2 cores".to_owned(), notes: vec![], measurements: vec![] };
        measurements.into_iter().for_each(|measured| results.add(measured));
        results
    }
}

/// The calendar's name of a day counted from 1970. Eras of 400 years begin in March, so that the leap day comes last;
/// a crate for dates would be most of what this program is built from.
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::super::measurement::tests::measured;
    use super::*;

    #[test]
    fn a_second_pass_adds_no_second_measurement() {
        let results = Results::of([measured("rig", "x", 20.0, 20.0), measured("rig", "x", 10.0, 10.0)]);

        assert_eq!(results.measurements, [measured("rig", "x", 10.0, 10.0)]);
    }

    #[test]
    fn vertebra_is_not_its_own_peer() {
        let results = Results::of([
            measured(VERTEBRA, "x", 1.0, 1.0),
            measured("rig", "x", 1.0, 1.0),
            measured("a3s", "x", 1.0, 1.0),
            measured("rig", "y", 1.0, 1.0),
        ]);

        assert_eq!(results.peers(), ["rig", "a3s"]);
    }

    #[test]
    fn the_file_holds_what_was_measured_and_what_was_judged() {
        let json = Results::of([measured(VERTEBRA, "turn", 6000.0, 5000.0)]).json().unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();

        assert_eq!(json["measurements"][0]["ns"], 6000.0);
        let turn = json["targets"].as_array().unwrap().iter().find(|it| it["case"] == "turn").unwrap();
        assert_eq!((turn["target"].as_str(), turn["verdict"].as_str()), (Some("≤ 7 µs"), Some("met")));
    }

    #[test]
    fn days_have_the_names_of_the_calendar() {
        let cases = [(0, "1970-01-01"), (11_016, "2000-02-29"), (11_017, "2000-03-01"), (20_819, "2027-01-01")];
        for (days, expected) in cases {
            assert_eq!(date(days), expected);
        }
    }
}
