//! What one suite says about one case, and what two passes say together.

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// The harness's JSON line, and the instructions that valgrind adds to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) peer: String,
    pub(crate) case: String,
    /// The median of the samples.
    pub(crate) ns: f64,
    /// The fastest sample.
    pub(crate) min_ns: f64,
    /// Median distance of the samples from their median.
    pub(crate) mad_ns: f64,
    pub(crate) allocs: f64,
    pub(crate) bytes: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) instructions: Option<f64>,
}

impl Measurement {
    pub(crate) fn parse(line: &str) -> anyhow::Result<Self> {
        serde_json::from_str(line).with_context(|| format!("not a line of the harness: {line:?}"))
    }

    /// Keeps the quicker pass. A neighbour on the machine can only make a pass slower, never quicker.
    pub(crate) fn better_of(self, other: Self) -> Self {
        let min_ns = self.min_ns.min(other.min_ns);
        let quicker = if other.ns < self.ns { other } else { self };
        Self { min_ns, ..quicker }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A measurement of which only the times matter.
    pub(crate) fn measured(peer: &str, case: &str, ns: f64, min_ns: f64) -> Measurement {
        let (peer, case) = (peer.to_owned(), case.to_owned());
        Measurement { peer, case, ns, min_ns, mad_ns: 1.0, allocs: 2.0, bytes: 1024.0, instructions: None }
    }

    #[test]
    fn a_line_of_the_harness_is_understood() {
        let line =
            r#"{"peer":"a3s","case":"one_hook","ns":59.13,"min_ns":58.00,"mad_ns":1.00,"allocs":2.00,"bytes":1024.00}"#;

        assert_eq!(Measurement::parse(line).unwrap(), measured("a3s", "one_hook", 59.13, 58.0));
    }

    #[test]
    fn a_line_of_somebody_else_is_quoted_in_the_complaint() {
        let error = Measurement::parse("thread panicked").unwrap_err();

        assert_eq!(error.to_string(), "not a line of the harness: \"thread panicked\"");
    }

    #[test]
    fn of_two_passes_the_lower_median_and_the_lower_minimum_stay() {
        let (first, second) = (measured("rig", "x", 10.0, 9.0), measured("rig", "x", 20.0, 8.0));

        assert_eq!(first.clone().better_of(second.clone()), measured("rig", "x", 10.0, 8.0));
        assert_eq!(second.better_of(first), measured("rig", "x", 10.0, 8.0));
    }
}
