//! Points by name: operations on a point whose type is not known, because a file or a client names it.

use std::{any::TypeId, fmt, ops::Deref};

use serde_json::{Map, Value, json};
use vertebra_hooks::{HookSet, Hooks, Name, Point, Record, Ruling, Verdict as _};

use crate::{
    AgentPoint, AgentState, Alone, PointInfo,
    points::{
        any_hook::{AnyHook, AnySite, attach},
        table::POINT_TABLE,
    },
};

type Fields = Map<String, Value>;

/// A point of an agent's life without its type: a built-in one, one of the program, or one that a file declares.
///
/// It dereferences to its row in the table of points. Found by name in [`Points`](crate::Points).
#[derive(Clone, Copy)]
pub struct AnyPoint(&'static dyn Erased);

/// What can be done at every point. Behind a pointer, so that it is compiled once for each point and not for each user.
pub(crate) trait Erased: Send + Sync {
    fn info(&self) -> &'static PointInfo;
    fn identity(&self) -> (TypeId, u32);
    fn complete(&self, event: Value) -> Result<Value, serde_json::Error>;
    fn verdict(&self, verdict: &Fields) -> Result<Value, serde_json::Error>;
    fn attributes_of(&self, event: Value) -> Result<Vec<&'static str>, serde_json::Error>;
    fn attach(&self, set: &mut HookSet, site: AnySite, hook: Box<dyn AnyHook>) -> bool;
    fn in_order(&self, hooks: &Hooks, event: Value) -> Result<Vec<Name>, serde_json::Error>;
    fn fire<'a>(&'a self, alone: &'a Alone, event: Value, state: &'a mut AgentState) -> Firing<'a>;
}

type Firing<'a> = vertebra_hooks::BoxFuture<'a, Result<AnyFired, serde_json::Error>>;

impl<P: AgentPoint> Erased for P {
    fn info(&self) -> &'static PointInfo {
        AgentPoint::info(*self)
    }

    fn identity(&self) -> (TypeId, u32) {
        (TypeId::of::<P>(), Point::identity(*self).number)
    }

    fn complete(&self, event: Value) -> Result<Value, serde_json::Error> {
        (P::code().event_to_json)(&self.read(event)?)
    }

    fn verdict(&self, verdict: &Fields) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self.read_verdict(verdict)?)
    }

    fn attributes_of(&self, event: Value) -> Result<Vec<&'static str>, serde_json::Error> {
        use vertebra_hooks::Event as _;
        let event = self.read(event)?;
        let keys = self.info().attributes.iter().chain(crate::ATTRIBUTES).map(|attribute| attribute.key);
        let mut answered: Vec<&str> = Vec::new();
        for key in keys.filter(|key| event.attribute(key).is_some()) {
            if !answered.contains(&key) {
                answered.push(key);
            }
        }
        Ok(answered)
    }

    fn attach(&self, set: &mut HookSet, site: AnySite, hook: Box<dyn AnyHook>) -> bool {
        attach(*self, set, site, hook)
    }

    fn in_order(&self, hooks: &Hooks, event: Value) -> Result<Vec<Name>, serde_json::Error> {
        let explained = hooks.explain(*self, &self.read(event)?, &AgentState::default());
        Ok(explained.into_iter().map(|one| one.hook.name.clone()).collect())
    }

    fn fire<'a>(&'a self, alone: &'a Alone, event: Value, state: &'a mut AgentState) -> Firing<'a> {
        Box::pin(async move {
            let mut event = self.read(event)?;
            Ok(AnyFired::of(*self, alone, &mut event, state).await)
        })
    }
}

impl AnyPoint {
    /// This point.
    pub const fn new<P: AgentPoint>(point: &'static P) -> Self {
        Self(point)
    }

    /// This point, for as long as the program runs: a point without fields takes no memory.
    pub fn of<P: AgentPoint>(point: P) -> Self {
        Self(Box::leak(Box::new(point)))
    }

    /// Returns whether this is the given point.
    pub fn is<P: AgentPoint>(&self, point: P) -> bool {
        self.0.identity() == Erased::identity(&point)
    }

    /// Returns whether this is one of the built-in points.
    pub fn is_built_in(&self) -> bool {
        POINT_TABLE.contains(self)
    }

    /// Its row, for as long as the program runs.
    pub fn row(&self) -> &'static PointInfo {
        self.0.info()
    }

    /// Returns the usual fields of an event, its head included. The author of the event gives the others.
    pub fn blank(&self) -> Fields {
        let folder = std::env::current_dir().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        let head = json!({
            "event_id": "run-1.1", "session_id": "session-1", "run_id": "run-1", "agent": "agent", "depth": 0, "step": 1,
            "timestamp": "1970-01-01T00:00:00Z", "working_directory": folder,
        });
        let mut fields = object(head);
        fields.extend(object((self.blank)(self)));
        fields.insert("point".to_owned(), self.name.into());
        fields
    }

    /// An event that has a value in every field.
    pub fn sample(&self) -> Value {
        let mut fields = self.blank();
        fields.extend(object((self.sample)(self)));
        fields.into()
    }

    /// The form of an event in which every field is there, as the point's own type writes it.
    pub fn complete(&self, event: Value) -> Result<Value, serde_json::Error> {
        self.0.complete(event)
    }

    /// The form of a verdict that the point's own type writes. An error if the point has no such verdict.
    pub fn verdict(&self, verdict: &Fields) -> Result<Value, serde_json::Error> {
        self.0.verdict(verdict)
    }

    /// The attributes that an event answers for, of all that are known.
    pub fn attributes_of(&self, event: Value) -> Result<Vec<&'static str>, serde_json::Error> {
        self.0.attributes_of(event)
    }

    /// Adds a hook to a set. Returns whether it was added: a guard is not where nothing can be refused.
    pub fn attach(&self, set: &mut HookSet, site: AnySite, hook: impl AnyHook) -> bool {
        self.0.attach(set, site, Box::new(hook))
    }

    /// The hooks at this point, in the order they run.
    pub fn in_order(&self, hooks: &Hooks) -> Vec<Name> {
        self.0.in_order(hooks, self.sample()).unwrap_or_default()
    }

    /// Fires an event by hand. The state is afterwards as the hooks left it.
    pub async fn fire(
        &self,
        alone: &Alone,
        event: Value,
        state: &mut AgentState,
    ) -> Result<AnyFired, serde_json::Error> {
        self.0.fire(alone, event, state).await
    }
}

impl Deref for AnyPoint {
    type Target = PointInfo;

    fn deref(&self) -> &PointInfo {
        self.0.info()
    }
}

/// Two points are the same if their hooks are in one table. Two files that declare a point alike declare the same point.
impl PartialEq for AnyPoint {
    fn eq(&self, other: &Self) -> bool {
        self.0.identity() == other.0.identity()
    }
}

impl Eq for AnyPoint {}

/// Whether it has this name.
impl PartialEq<str> for AnyPoint {
    fn eq(&self, name: &str) -> bool {
        self.name == name
    }
}

/// Its name.
impl fmt::Display for AnyPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Its name.
impl fmt::Debug for AnyPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The result of an event that was fired by hand.
#[derive(Debug, Clone)]
pub struct AnyFired {
    /// The event before and after its hooks, if they changed it.
    pub changed: Option<(Value, Value)>,
    /// The verdict that decided, and whose it is.
    pub decision: Option<(Ruling<Value>, vertebra_hooks::Kind)>,
    /// Every hook that matched.
    pub record: Record,
}

impl AnyFired {
    /// Fires an event of a point whose type is known.
    pub async fn of<P: AgentPoint>(point: P, alone: &Alone, event: &mut P::Event, state: &mut AgentState) -> Self {
        let before = event.clone();
        let outcome = alone.fire(point, event, state).await;
        let mut record = outcome.record();
        if outcome.is_empty() {
            record.point = point.info().name.into();
        }
        // A conversation is long: it is written out only if a hook changed something.
        let whole = |event: &P::Event| (P::code().event_to_json)(event).unwrap_or_default();
        let changed = record.changes().next().is_some().then(|| (whole(&before), whole(event)));
        let decision = outcome.decision().map(|ruling| {
            let verdict = serde_json::to_value(&ruling.verdict).unwrap_or_default();
            (Ruling { by: ruling.by.clone(), verdict }, ruling.verdict.kind())
        });
        Self { changed, decision, record }
    }
}

fn object(value: Value) -> Fields {
    match value {
        Value::Object(fields) => fields,
        _ => Fields::new(),
    }
}
