//! One JSON line per case: what the table, the gate and the history are made of.

use crate::measure::Measurement;

/// Writes by hand what needs no escaping: [`is_plain`] holds for both names.
pub(crate) fn line(peer: &str, case: &str, measured: &Measurement) -> String {
    let Measurement { ns, min_ns, mad_ns, allocs, bytes } = measured;
    format!(
        r#"{{"peer":"{peer}","case":"{case}","ns":{ns:.2},"min_ns":{min_ns:.2},"mad_ns":{mad_ns:.2},"allocs":{allocs:.2},"bytes":{bytes:.2}}}"#
    )
}

/// Whether a name can stand in a JSON string and on a command line as it is.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_with_two_decimals() {
        let measured = Measurement { ns: 59.126, min_ns: 58.0, mad_ns: 0.5, allocs: 13.0, bytes: 1024.0 };
        assert_eq!(
            line("a3s", "one_hook", &measured),
            r#"{"peer":"a3s","case":"one_hook","ns":59.13,"min_ns":58.00,"mad_ns":0.50,"allocs":13.00,"bytes":1024.00}"#
        );
    }

    #[test]
    fn a_name_with_a_quote_is_not_plain() {
        assert!(is_plain("tools_1000"));
        assert!(!is_plain("say \"hi\""));
        assert!(!is_plain(""));
    }
}
