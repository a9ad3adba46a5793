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

/// Returns whether a value looks random and is no name of something, such as `auth_token_v2`.
pub(crate) fn random_value(text: &str) -> bool {
    random(text) && !is_name(text)
}

/// Returns whether a text is an identifier made of words: at least two of them, all in one case, each with at most a
/// version number behind it. A hyphen does not count: people put hyphens between the words of a pass phrase.
fn is_name(text: &str) -> bool {
    let word = |part: &str| {
        let letters = part.trim_end_matches(|c: char| c.is_ascii_digit());
        let one_case = |test: fn(&u8) -> bool| letters.bytes().all(|byte| test(&byte));
        (1..=20).contains(&letters.len())
            && part.len() - letters.len() <= 3
            && (one_case(u8::is_ascii_lowercase) || one_case(u8::is_ascii_uppercase))
    };
    let parts: Vec<&str> = text.split(['_', '.']).collect();
    // A name has more letters than separators: `a_b_c_d_e_f_g1` is none.
    parts.len() > 1 && parts.iter().all(|part| word(part)) && text.len() >= parts.len() * 4
}

/// Returns whether a text is plain words, as an example in source code has them: `correct-horse-battery`.
pub(crate) fn words(text: &str) -> bool {
    let word = |part: &str| (1..=16).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_lowercase());
    text.split(['-', '_', ' ']).all(word)
}

/// Returns whether the value of something called `pwd` is a password: in an environment, `PWD` is a folder.
pub(crate) fn not_a_folder(text: &str) -> bool {
    let drive =
        text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2).is_some_and(|byte| b"/\\".contains(byte));
    a_value(text) && !drive && !text.starts_with(['/', '~', '.', '`'])
}

/// Whether a value is one, and not what is written where one was or will be.
pub(crate) fn a_value(text: &str) -> bool {
    let placeholder = ["[REDACTED", "<", "{", "$", "%"].iter().any(|begin| text.starts_with(begin));
    !placeholder && text.chars().any(|c| !matches!(c, '*' | '.' | 'x' | 'X'))
}

/// Returns whether what follows `password=` is a value, and not code that computes or passes one: `get_password(`,
/// `args.password`.
pub(crate) fn not_code(text: &str) -> bool {
    let last = text.rsplit(['.', ':', '>']).next().unwrap_or_default();
    let is_name = ["password", "passwd", "passphrase", "pwd"].iter().any(|name| last.eq_ignore_ascii_case(name));
    a_value(text) && !text.ends_with('(') && !is_name
}

/// Returns whether an unquoted value in a configuration file is a secret: no reference to one, no type and no switch.
pub(crate) fn configured(text: &str) -> bool {
    const WORDS: [&str; 18] = [
        "bool", "boolean", "false", "int", "integer", "nil", "no", "none", "null", "object", "off", "on", "optional",
        "required", "str", "string", "true", "yes",
    ];
    const REFERS: [&str; 6] = ["data.", "env.", "local.", "secrets.", "var.", "vault:"];
    // What is refused is short, so that a hostile text is not searched again and again.
    if text.len() > 300 {
        return true;
    }
    let refers = text.contains("://") || REFERS.iter().any(|begin| text.starts_with(begin));
    let is_word = WORDS.iter().any(|word| text.trim_end_matches([',', ';', '?']).eq_ignore_ascii_case(word));
    not_code(text) && !refers && !is_word && !text.starts_with(['/', '~', '.', '`', '!', '&', '*', '|', '>', '[', '@'])
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

    #[test]
    fn the_name_of_something_is_no_secret_and_a_pass_phrase_is() {
        for name in ["auth_token_v2", "crypto.hash.sha256", "OPENAI_API_KEY_V2"] {
            assert!(is_name(name), "{name}");
        }
        for value in ["test-abcdef0123456789", "my-secret-key-v2", "my_secret_key_2024", "a1_b2_c3_d4_e5", "hunter2"] {
            assert!(!is_name(value), "{value}");
        }
    }
}
