//! The code of a point, compiled once: in the crate that declares the point.
//!
//! Generic code is compiled again in every crate that uses it. A crate that declares points overrides [`Point::code`]
//! with a plain function; all other crates then call its copy through function pointers.

use std::sync::Arc;

use arc_swap::Guard;
use serde::Deserialize as _;
use serde_json::{Error, Map, Value};

use crate::{
    Explanation, Frame, Outcome, Point, RegisterError,
    dispatch::run,
    hook::BoxFuture,
    registry::Snapshot,
    set::{AnyTable, Registered},
    table::Table,
};

/// The functions that are compiled for a point.
#[doc(hidden)]
#[expect(clippy::type_complexity, reason = "each type is written once, and says what the function takes and returns")]
pub struct PointCode<P: Point> {
    pub(crate) compile: fn(&[&Registered]) -> Result<AnyTable, RegisterError>,
    pub(crate) dispatch: for<'a> fn(P, Guard<Arc<Snapshot>>, Frame<'a, P>) -> BoxFuture<'a, Outcome<P>>,
    pub(crate) explain: fn(&Table<P>, &P::Event, &P::State) -> Vec<Explanation>,
    /// The JSON form of an event.
    pub event_to_json: fn(&P::Event) -> Result<Value, Error>,
    /// The event of a JSON form.
    pub event_from_json: fn(Value) -> Result<P::Event, Error>,
    /// The verdict of a JSON form.
    pub verdict_from_json: fn(&Map<String, Value>) -> Result<P::Verdict, Error>,
}

impl<P: Point> PointCode<P> {
    /// Compiles the functions where this is called.
    pub fn compiled_here() -> Self {
        Self {
            compile: |registered| Ok(Arc::new(Table::<P>::compile(registered)?) as AnyTable),
            dispatch: |point, held, frame| Box::pin(run(point, held, frame)),
            explain: Table::explain,
            event_to_json: |event| serde_json::to_value(event),
            event_from_json: |value| serde_json::from_value(value),
            verdict_from_json: |fields| P::Verdict::deserialize(fields),
        }
    }
}
