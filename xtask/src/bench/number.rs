//! Writes numbers as a reader wants them: three digits and a unit.

/// A time given in nanoseconds.
pub(crate) fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{} {unit}", digits(value))
}

/// How many times as much.
pub(crate) fn ratio(value: f64) -> String {
    format!("{} ×", count_or_digits(value))
}

/// A count, in groups of three.
pub(crate) fn count(value: f64) -> String {
    let plain = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in plain.chars().enumerate() {
        if index > 0 && (plain.len() - index).is_multiple_of(3) {
            grouped.push('\u{a0}');
        }
        grouped.push(digit);
    }
    grouped
}

/// What is usually whole, and shows one decimal where it is not.
pub(crate) fn nearly_whole(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { count(value) } else { format!("{value:.1}") }
}

pub(crate) fn kibibytes(bytes: f64) -> String {
    format!("{} KiB", digits(bytes / 1024.0))
}

/// A number somebody chose: without the zeros that would claim it was measured.
pub(crate) fn chosen(written: &str) -> String {
    match written.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => written.to_owned(),
    }
}

fn count_or_digits(value: f64) -> String {
    if value < 999.5 { digits(value) } else { count(value) }
}

/// Three digits that mean something.
fn digits(value: f64) -> String {
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_digits_and_the_unit_that_fits() {
        let cases =
            [(4.0, "4.00 ns"), (17.43, "17.4 ns"), (307.3, "307 ns"), (999.7, "1.00 µs"), (65_901_569.0, "65.9 ms")];
        for (ns, expected) in cases {
            assert_eq!(time(ns), expected);
        }
    }

    #[test]
    fn a_large_ratio_is_a_count_and_a_small_one_keeps_its_decimals() {
        assert_eq!(ratio(0.5599), "0.56 ×");
        assert_eq!(ratio(48.21), "48.2 ×");
        assert_eq!(ratio(51_173.4), "51\u{a0}173 ×");
    }

    #[test]
    fn a_chosen_number_has_no_zeros_after_its_point() {
        let cases = [("10.0 µs", "10 µs"), ("1.20 µs", "1.2 µs"), ("150 ns", "150 ns"), ("20.0 KiB", "20 KiB")];
        for (written, expected) in cases {
            assert_eq!(chosen(written), expected);
        }
    }

    #[test]
    fn digits_are_grouped_by_three() {
        assert_eq!(count(0.0), "0");
        assert_eq!(count(173.0), "173");
        assert_eq!(count(1_234_567.0), "1\u{a0}234\u{a0}567");
        assert_eq!(nearly_whole(71.45), "71.5");
        assert_eq!(nearly_whole(11.0), "11");
    }
}
