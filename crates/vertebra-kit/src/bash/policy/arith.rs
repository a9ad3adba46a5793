//! Numbers, as far as they are constant.

use super::lex::Cursor;

const MAX_DEPTH: usize = 16;

/// The value of an expression of numbers, names and the common operators.
pub(super) fn evaluate(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Option<i64> {
    let mut reader = Reader { cursor: Cursor::new(text), lookup, depth: 0 };
    let value = reader.sum()?;
    reader.blanks();
    reader.cursor.rest().is_empty().then_some(value)
}

struct Reader<'t> {
    cursor: Cursor<'t>,
    lookup: &'t dyn Fn(&str) -> Option<String>,
    depth: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        self.cursor.take_while(char::is_whitespace);
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            self.blanks();
            if self.cursor.eat("+") {
                value = value.wrapping_add(self.product()?);
            } else if self.cursor.eat("-") {
                value = value.wrapping_sub(self.product()?);
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            self.blanks();
            if self.cursor.eat("*") {
                value = value.wrapping_mul(self.atom()?);
            } else if self.cursor.eat("/") {
                value = value.checked_div(self.atom()?)?;
            } else if self.cursor.eat("%") {
                value = value.checked_rem(self.atom()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        self.blanks();
        let value = if self.cursor.eat("(") {
            let value = self.sum()?;
            self.blanks();
            self.cursor.eat(")").then_some(value)
        } else if self.cursor.eat("-") {
            self.atom().map(i64::wrapping_neg)
        } else if self.cursor.eat("+") {
            self.atom()
        } else {
            self.word()
        };
        self.depth -= 1;
        value
    }

    fn word(&mut self) -> Option<i64> {
        let word = self.cursor.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '#'));
        if let Some((base, digits)) = word.split_once('#') {
            let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
            return i64::from_str_radix(digits, base).ok();
        }
        if let Some(hex) = word.strip_prefix("0x") {
            return i64::from_str_radix(hex, 16).ok();
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return if word.len() > 1 && word.starts_with('0') {
                i64::from_str_radix(word, 8).ok()
            } else {
                word.parse().ok()
            };
        }
        if word.is_empty() { None } else { (self.lookup)(word)?.parse().ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_computed() {
        let value = |text| evaluate(text, &|name| (name == "x").then(|| "4".to_owned()));
        assert_eq!(value(" 1 + x*(2-0x1) % 3"), Some(2));
        assert_eq!(value("8#17 - 010"), Some(7));
        assert_eq!(value("1/0"), None);
        assert_eq!(value(&"(".repeat(1000)), None);
    }
}
