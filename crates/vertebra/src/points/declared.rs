//! Points that a file declares. One Rust type represents all of them.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use serde::{Deserialize, Serialize, de::Error as _};
use serde_json::{Map, Value, json};
use vertebra_hooks::{
    Attribute, AttributeValue, Commands, Event, Identity, Kind, PatternKind, Point, PointCode, Verdict as _, verdict,
};
use vertebra_shell::{ParseLimits, parse};

use crate::{
    AgentPoint, AgentState, AnyPoint, At, Changeable, ContextMode, PointError, PointInfo, attribute,
    points::attributes::of_run,
    tool::{call::commands, paths},
};

/// A point as a file declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PointDeclaration {
    /// Its name.
    pub name: String,
    /// What happens there, in words.
    pub about: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The attributes that matchers may test, besides `session` and `agent`, and how their patterns are read.
    pub attributes: Vec<(String, PatternKind)>,
    /// What hooks may answer: `deny`, and with it `ask`, `allow` and `stop`.
    pub powers: Vec<Kind>,
    /// The fields that hooks may change.
    pub changes: Vec<String>,
}

/// The powers that a declared point may have.
pub const DECLARED_POWERS: &[Kind] = DeclaredVerdict::POWERS;

verdict! {
    /// At a point that a file declares. Which of these it has is in its declaration.
    pub(crate) enum DeclaredVerdict { allow, ask, deny, stop }
}

/// A declared point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared(&'static Definition);

#[derive(Debug)]
struct Definition {
    declaration: PointDeclaration,
    info: PointInfo,
    number: u32,
    any: std::sync::OnceLock<AnyPoint>,
}

/// How many different points files may declare in one process. A declaration is kept for as long as the process runs.
const MOST_DECLARED: usize = 1000;

static DECLARED: Mutex<Vec<&'static Definition>> = Mutex::new(Vec::new());

impl PointDeclaration {
    /// The point. The same declaration always gives the same point.
    pub fn point(&self) -> Result<AnyPoint, PointError> {
        if !self.powers.is_empty() && !self.powers.contains(&Kind::Deny) {
            return Err(PointError::NoDeny { point: self.name.clone(), has: self.powers.clone() });
        }
        if let Some(kind) = self.powers.iter().find(|kind| !DECLARED_POWERS.contains(kind)) {
            return Err(PointError::NoSuchPower { point: self.name.clone(), kind: *kind });
        }
        let mut declared = DECLARED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = declared.iter().copied().find(|known| known.declaration == *self);
        let definition = match known {
            Some(known) => known,
            None if declared.len() >= MOST_DECLARED => {
                return Err(PointError::TooMany { point: self.name.clone(), limit: MOST_DECLARED });
            }
            None => {
                let number = u32::try_from(declared.len() + 1).unwrap_or(u32::MAX);
                let any = std::sync::OnceLock::new();
                let new = Box::new(Definition { declaration: self.clone(), info: self.info(), number, any });
                let new: &'static Definition = Box::leak(new);
                declared.push(new);
                new
            }
        };
        Ok(*definition.any.get_or_init(|| AnyPoint::of(Declared(definition))))
    }

    fn info(&self) -> PointInfo {
        let of_run = [attribute::session::ATTRIBUTE, attribute::agent::ATTRIBUTE];
        let own = self.attributes.iter().map(|(key, kind)| Attribute { key: kept(key), kind: *kind });
        let changes: Vec<&'static str> = self.changes.iter().map(|field| kept(field)).collect();
        PointInfo {
            name: kept(&self.name),
            about: kept(&self.about),
            aliases: self.aliases.iter().map(|alias| kept(alias)).collect::<Vec<_>>().leak(),
            attributes: own.chain(of_run).collect::<Vec<_>>().leak(),
            powers: self.powers.clone().leak(),
            guards: !self.powers.is_empty(),
            changes: Changeable::fields(changes.leak()),
            context: ContextMode::NextStep,
            blank: |_| json!({}),
            sample: sample_of,
        }
    }
}

fn kept(text: &str) -> &'static str {
    text.to_owned().leak()
}

/// An event with a text in every attribute.
fn sample_of(info: &PointInfo) -> Value {
    let of_run = [attribute::session::ATTRIBUTE, attribute::agent::ATTRIBUTE];
    let own = info.attributes.iter().filter(|attribute| !of_run.contains(attribute));
    own.map(|attribute| (attribute.key.to_owned(), Value::from(attribute.key))).collect::<Map<_, _>>().into()
}

/// The event of a declared point. Its fields come from the caller that fires it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DeclaredEvent {
    #[serde(flatten)]
    at: At,
    #[serde(flatten)]
    fields: Map<String, Value>,
    #[serde(skip)]
    point: Option<Declared>,
}

impl Event for DeclaredEvent {
    fn attribute(&self, key: &str) -> Option<AttributeValue<'_>> {
        let Some(value) = self.fields.get(key) else { return of_run(&self.at, key) };
        let attributes = self.point.map_or(&[][..], |point| point.0.info.attributes);
        let kind = attributes.iter().find(|attribute| attribute.key == key)?.kind;
        match (kind, value) {
            (PatternKind::Json, value) => Some(AttributeValue::Json(Cow::Borrowed(value))),
            (PatternKind::Glob, Value::String(path)) => Some(AttributeValue::Texts(self.forms_of(path))),
            (PatternKind::Glob, Value::Array(paths)) => {
                let paths = paths.iter().filter_map(Value::as_str);
                Some(AttributeValue::Texts(paths.flat_map(|path| self.forms_of(path)).collect()))
            }
            (PatternKind::Regex, Value::String(line)) if key == attribute::command::ATTRIBUTE.key => {
                let parsed = [parse(line, ParseLimits::default())];
                let Commands { simple, further, .. } = commands(Some(line), &parsed);
                let owned =
                    |texts: Vec<Cow<'_, str>>| texts.into_iter().map(|text| Cow::Owned(text.into_owned())).collect();
                let line = Some(Cow::Borrowed(line.as_str()));
                let commands = Commands { line, simple: owned(simple), further: owned(further) };
                Some(AttributeValue::Commands(Box::new(commands)))
            }
            (_, Value::String(text)) => Some(AttributeValue::Text(text)),
            (_, Value::Array(texts)) => Some(AttributeValue::Texts(texts.iter().map(text).collect())),
            (_, Value::Null) => None,
            (_, value) => Some(AttributeValue::Texts(vec![text(value)])),
        }
    }
}

impl DeclaredEvent {
    fn forms_of(&self, path: &str) -> Vec<Cow<'_, str>> {
        let folder = &self.at.run.working_directory;
        paths::forms(folder, folder, path).map(Cow::Owned).collect()
    }
}

fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

impl Point for Declared {
    const NAME: &'static str = "a declared point";
    type Event = DeclaredEvent;
    type State = AgentState;
    type Verdict = DeclaredVerdict;

    fn identity(self) -> Identity {
        let Definition { info, number, .. } = self.0;
        Identity { number: *number, name: info.name, attributes: info.attributes, can_refuse: info.guards }
    }

    #[inline(never)]
    fn code() -> PointCode<Self> {
        PointCode::compiled_here()
    }
}

impl AgentPoint for Declared {
    fn info(self) -> &'static PointInfo {
        &self.0.info
    }

    fn read(self, event: Value) -> Result<DeclaredEvent, serde_json::Error> {
        Ok(DeclaredEvent { point: Some(self), ..serde_json::from_value(event)? })
    }

    fn read_verdict(self, verdict: &Map<String, Value>) -> Result<DeclaredVerdict, serde_json::Error> {
        let read = DeclaredVerdict::deserialize(verdict)?;
        let kind = read.kind();
        if matches!(kind, Kind::Proceed | Kind::Skip) || self.0.info.powers.contains(&kind) {
            return Ok(read);
        }
        let here =
            [Kind::Proceed, Kind::Skip].iter().chain(self.0.info.powers).map(|kind| format!("`{}`", kind.word()));
        let here = here.collect::<Vec<_>>().join(", ");
        Err(serde_json::Error::custom(format!("unknown variant `{}`, expected one of {here}", kind.word())))
    }
}
