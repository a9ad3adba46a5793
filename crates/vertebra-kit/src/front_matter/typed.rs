//! Turns the values of a [tree](super::tree) into the types that fields have. What a value means is decided by its field:
//! `1.10` is text in a text field and a number in a number field.

use std::fmt;

use serde::{
    Deserializer,
    de::{
        self, IntoDeserializer, Unexpected, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};

use super::tree::{Kind, Node, YamlError};

impl de::Error for YamlError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { line: None, message: message.to_string() }
    }
}

impl<'de> IntoDeserializer<'de, YamlError> for &'de Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// What a plain scalar is where no field says what it should be.
enum Plain {
    Nothing,
    Truth(bool),
    Whole(i64),
    Natural(u64),
    Fraction(f64),
    Text,
}

impl Plain {
    fn of(text: &str) -> Self {
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Nothing,
            "true" | "True" | "TRUE" => return Self::Truth(true),
            "false" | "False" | "FALSE" => return Self::Truth(false),
            _ => {}
        }
        if let Some(number) = natural(text) {
            return Self::Natural(number);
        }
        // Rust reads `inf` and `nan` too, which are words in YAML.
        let looks_like_a_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
            && text.contains(|c: char| c.is_ascii_digit());
        match (text.parse(), text.parse()) {
            (Ok(number), _) if looks_like_a_number => Self::Whole(number),
            (_, Ok(number)) if looks_like_a_number => Self::Fraction(number),
            _ => Self::Text,
        }
    }
}

/// A whole number without a sign: `12`, `0x1F` or `0o17`.
fn natural(text: &str) -> Option<u64> {
    let (digits, radix) = match text.get(..2) {
        Some("0x") => (&text[2..], 16),
        Some("0o") => (&text[2..], 8),
        _ => (text, 10),
    };
    digits.starts_with(|c: char| c.is_digit(radix)).then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

impl Node {
    fn is_nothing(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, is_plain: true } if matches!(Plain::of(text), Plain::Nothing))
    }

    /// The text of a scalar; an error that says what to write where there is none.
    fn text(&self, wanted: &str) -> Result<&str, YamlError> {
        match &self.kind {
            Kind::Scalar { .. } if self.is_nothing() => Err(self.wrong(format!("the field is empty; write {wanted}"))),
            Kind::Scalar { text, .. } => Ok(text),
            Kind::List(_) => Err(self.wrong(format!("this is a list; write {wanted}"))),
            Kind::Map(_) => Err(self.wrong(format!("these are fields; write {wanted}"))),
        }
    }

    fn wrong(&self, message: String) -> YamlError {
        YamlError { line: Some(self.line), message }
    }

    /// Parses the text of a scalar.
    fn parsed<T>(&self, wanted: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, YamlError> {
        let text = self.text(wanted)?;
        parse(text).ok_or_else(|| self.wrong(format!("expected {wanted}, found `{text}`")))
    }

    /// Adds the line of this value to an error that has none.
    fn placed<T>(&self, result: Result<T, YamlError>) -> Result<T, YamlError> {
        result.map_err(|error| YamlError { line: error.line.or(Some(self.line)), ..error })
    }
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = YamlError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.placed(match &self.kind {
            Kind::Scalar { text, is_plain: false } => visitor.visit_borrowed_str(text),
            Kind::Scalar { text, is_plain: true } => match Plain::of(text) {
                Plain::Nothing => visitor.visit_unit(),
                Plain::Truth(value) => visitor.visit_bool(value),
                Plain::Whole(number) => visitor.visit_i64(number),
                Plain::Natural(number) => visitor.visit_u64(number),
                Plain::Fraction(number) => visitor.visit_f64(number),
                Plain::Text => visitor.visit_borrowed_str(text),
            },
            Kind::List(items) => visitor.visit_seq(SeqDeserializer::new(items.iter())),
            Kind::Map(fields) => {
                visitor.visit_map(MapDeserializer::new(fields.iter().map(|(key, value)| (key.as_str(), value))))
            }
        })
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.placed(self.text("text").and_then(|text| visitor.visit_borrowed_str(text)))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_bool(self.parsed("`true` or `false`", truth)?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_u64(self.parsed("a whole number", natural)?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_f64(self.parsed("a number", |text| text.parse().ok())?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        if self.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, YamlError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, YamlError> {
        let text = self.text(&variants.join(" or "))?;
        self.placed(visitor.visit_enum(text.into_deserializer()))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, YamlError> {
        match &self.kind {
            Kind::List(_) => self.deserialize_any(visitor),
            _ => self.placed(Err(de::Error::invalid_type(Unexpected::Other("a single value"), &visitor))),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u32 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct map struct
        identifier ignored_any
    }
}
