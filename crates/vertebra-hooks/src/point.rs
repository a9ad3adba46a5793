//! Points, and what an event and a state must offer to stand at one.

use std::{
    any::TypeId,
    hash::{Hash, Hasher},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{Attribute, AttributeValue, Change, Notes, PointCode, Verdict, change};

/// A place in a program's life where hooks run, such as "before a tool call".
///
/// Implemented by unit structs, so that the type is the name: `hooks.on(BeforeToolUse, …)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a point",
    label = "no hooks run here",
    note = "hooks, guards and watches stand at points; operations are wrapped with `around`"
)]
pub trait Point: Copy + Send + Sync + 'static {
    /// The name in records, on the wire and in configuration.
    const NAME: &'static str;
    /// The event that hooks receive at this point.
    type Event: Event;
    /// State that lives longer than one event and that hooks may modify.
    type State: State;
    /// The verdicts that hooks may return here. Made with [`verdict!`](crate::verdict!).
    type Verdict: Verdict;
    /// The attributes of its events, which matchers may test here. Those that are tested most come first.
    const ATTRIBUTES: &'static [Attribute] = &[];

    /// Which point this is. The values of most types are one point, which its constants describe; a type whose values are
    /// several points, such as those that a configuration file declares, describes each of them here.
    fn identity(self) -> Identity {
        Identity { number: 0, name: Self::NAME, attributes: Self::ATTRIBUTES, can_refuse: Self::Verdict::can_refuse() }
    }

    /// The point's compiled code. A crate that declares points for other crates overrides it with
    /// `#[inline(never)] fn code() -> PointCode<Self> { PointCode::compiled_here() }`, so that the code exists once.
    #[doc(hidden)]
    fn code() -> PointCode<Self> {
        PointCode::compiled_here()
    }
}

/// Which of the points of a type one is, and what it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Distinguishes the points of one type.
    pub number: u32,
    /// The name in records, on the wire and in configuration.
    pub name: &'static str,
    /// The attributes of its events.
    pub attributes: &'static [Attribute],
    /// Whether its hooks can refuse something, so that they fail closed unless told otherwise.
    pub can_refuse: bool,
}

/// The key of a table of hooks: a point, or an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PointId {
    of: TypeId,
    number: u32,
}

impl PointId {
    #[inline]
    pub(crate) fn of<P: Point>(point: P) -> Self {
        Self { of: TypeId::of::<P>(), number: point.identity().number }
    }

    #[inline]
    pub(crate) fn of_operation<O: 'static>() -> Self {
        Self { of: TypeId::of::<O>(), number: 0 }
    }

    /// One of 64 buckets. A `TypeId` is a hash already, and known to the compiler: all of this is one constant, except for
    /// points that are made at run time.
    #[inline]
    pub(crate) fn bucket(self) -> usize {
        let mut hasher = TypeIdHasher::default();
        self.of.hash(&mut hasher);
        usize::try_from(hasher.finish().wrapping_add(self.number.into()) % 64).unwrap_or_default()
    }
}

#[derive(Default)]
struct TypeIdHasher(u64);

impl Hasher for TypeIdHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The data of one firing: exactly what a hook sees, and exactly what crosses a wire.
///
/// Cloning must be cheap (shared structure inside), because a hook that changes an event costs one clone: the form to
/// go back to if it fails.
pub trait Event: Clone + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The value of an attribute that matchers test; `None` if this event has no such attribute. Asked only for the keys in
    /// [`Point::ATTRIBUTES`], and only when a matcher tests them.
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        let _ = key;
        None
    }

    /// What changed between this form and `after`, for the record.
    fn changes(&self, after: &Self) -> Vec<Change> {
        change::between(self, after)
    }
}

/// What outlives one event: a persistent value whose clone is O(1).
pub trait State: Clone + Send + Sync + 'static {
    /// What hooks may reach but not change: the run, its clock, its services.
    type Scope: Clone + Send + Sync + 'static;

    /// Notes that hooks left for later hooks.
    fn notes(&self) -> &Notes;

    /// The same, to write.
    fn notes_mut(&mut self) -> &mut Notes;

    /// A metadata value, for matchers.
    fn metadata(&self, key: &str) -> Option<&Value> {
        let _ = key;
        None
    }

    /// What changed between this form and `after`, for the record.
    fn changes(&self, after: &Self) -> Vec<Change>;
}

/// The state of points that have none but notes.
#[derive(Debug, Clone, Default)]
pub struct Bare {
    notes: Notes,
}

impl State for Bare {
    type Scope = ();

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn changes(&self, after: &Self) -> Vec<Change> {
        self.notes.changes(&after.notes)
    }
}
