//! The values of a file with their positions: the parser's values, borrowed from the text.

use std::ops::Range;

use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A value of a file.
#[derive(Clone, Copy)]
pub(super) struct Item<'f>(&'f Spanned<DeValue<'f>>);

/// A key and its value.
pub(super) struct Field<'f> {
    pub(super) key: &'f str,
    /// The position of the key.
    pub(super) span: Range<usize>,
    pub(super) item: Item<'f>,
}

/// Returns the fields of a table in the order they are written.
pub(super) fn fields<'f>(table: &'f DeTable<'f>) -> Vec<Field<'f>> {
    let field = |(key, value): (&'f Spanned<_>, &'f _)| {
        let (span, key): (_, &'f std::borrow::Cow<'f, str>) = (key.span(), key.get_ref());
        Field { key, span, item: Item(value) }
    };
    let mut fields: Vec<Field<'f>> = table.iter().map(field).collect();
    fields.sort_unstable_by_key(|field| field.span.start);
    fields
}

impl<'f> Item<'f> {
    pub(super) fn span(self) -> Range<usize> {
        self.0.span()
    }

    pub(super) fn as_str(self) -> Option<&'f str> {
        self.0.get_ref().as_str()
    }

    pub(super) fn as_bool(self) -> Option<bool> {
        self.0.get_ref().as_bool()
    }

    /// Returns the integer, if it fits.
    pub(super) fn as_integer(self) -> Option<i64> {
        let number = self.0.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    pub(super) fn as_float(self) -> Option<f64> {
        self.0.get_ref().as_float()?.as_str().parse().ok()
    }

    pub(super) fn as_array(self) -> Option<impl ExactSizeIterator<Item = Item<'f>>> {
        Some(self.0.get_ref().as_array()?.iter().map(Item))
    }

    /// Returns its fields, if it is a table.
    pub(super) fn fields(self) -> Option<Vec<Field<'f>>> {
        self.0.get_ref().as_table().map(fields)
    }

    /// Whether it is written as `[[key]]`, or could be.
    pub(super) fn is_list_of_tables(self) -> bool {
        self.as_array().and_then(|mut list| list.next()).is_some_and(|first| first.0.get_ref().is_table())
    }

    /// Converts it to JSON, or says why that is impossible.
    pub(super) fn to_json(self) -> Result<Value, String> {
        Ok(match self.0.get_ref() {
            DeValue::String(text) => text.as_ref().into(),
            DeValue::Integer(_) => self.as_integer().ok_or("the number is too large")?.into(),
            DeValue::Boolean(flag) => (*flag).into(),
            DeValue::Datetime(moment) => moment.to_string().into(),
            DeValue::Float(_) => self
                .as_float()
                .and_then(serde_json::Number::from_f64)
                .ok_or("`inf` and `nan` cannot be used here")?
                .into(),
            DeValue::Array(list) => list.iter().map(|value| Item(value).to_json()).collect::<Result<_, _>>()?,
            DeValue::Table(table) => object(fields(table))?.into(),
        })
    }
}

/// Converts a table to a JSON object.
pub(super) fn object(fields: Vec<Field<'_>>) -> Result<Map<String, Value>, String> {
    fields.into_iter().map(|field| Ok((field.key.to_owned(), field.item.to_json()?))).collect()
}
