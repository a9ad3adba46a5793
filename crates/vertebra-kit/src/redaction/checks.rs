//! What a pattern cannot say: check sums, ranges, and whether something looks random.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Whether the digits pass the check of card numbers.
pub(crate) fn luhn(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(10)).collect();
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit })
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != 0)
}

/// Whether the account number passes its check: moved by four, letters as numbers, one modulo 97.
pub(crate) fn iban(text: &str) -> bool {
    let plain: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    let moved = plain.iter().skip(4).chain(plain.iter().take(4));
    let remainder = moved.filter_map(|c| c.to_digit(36)).fold(0, |rest: u32, value| {
        let shift = if value > 9 { 100 } else { 10 };
        (rest * shift + value) % 97
    });
    (15..=34).contains(&plain.len()) && remainder == 1
}

/// Whether it is an address and not, say, the version of something with five parts.
pub(crate) fn ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

/// Whether it is an address that nobody takes for a path in a program: `a::b` is not enough.
pub(crate) fn ipv6(text: &str) -> bool {
    let groups = text.split(':').filter(|group| !group.is_empty()).count();
    groups >= 3 && text.chars().any(|c| c.is_ascii_digit()) && text.parse::<Ipv6Addr>().is_ok()
}

/// Whether a value looks as if a machine had drawn it: letters and digits, and many different ones.
pub(crate) fn random(text: &str) -> bool {
    let has = |test: fn(&u8) -> bool| text.bytes().any(|byte| test(&byte));
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && entropy(text) >= 3.0
}

/// Whether a value is one, and not what is written where one was or will be.
pub(crate) fn a_value(text: &str) -> bool {
    let placeholder = ["[REDACTED", "<", "{", "$", "%"].iter().any(|begin| text.starts_with(begin));
    !placeholder && text.chars().any(|c| !matches!(c, '*' | '.' | 'x' | 'X'))
}

/// Bits per byte, by how often each byte occurs.
fn entropy(text: &str) -> f64 {
    let mut counts = [0_u32; 256];
    text.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let total: u32 = counts.iter().sum();
    let share = |count: &u32| f64::from(*count) / f64::from(total);
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_sums_are_checked() {
        assert!(luhn("4111 1111 1111 1111") && luhn("378282246310005"));
        assert!(!luhn("4111 1111 1111 1112") && !luhn("0000000000000000"));
        assert!(iban("DE89 3704 0044 0532 0130 00") && iban("GB29NWBK60161331926819"));
        assert!(!iban("DE89 3704 0044 0532 0130 01"));
    }

    #[test]
    fn addresses_are_told_from_versions_and_paths() {
        assert!(ipv4("192.168.0.1") && !ipv4("300.1.1.1"));
        assert!(ipv6("2001:db8::ff00:42:8329") && !ipv6("a::b") && !ipv6("12:30:45"));
    }

    #[test]
    fn what_looks_random_has_letters_and_digits_and_many_of_them() {
        assert!(random("wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY"));
        assert!(!random("parse_token_from_header") && !random("a1a1a1a1a1a1a1a1"));
    }
}
