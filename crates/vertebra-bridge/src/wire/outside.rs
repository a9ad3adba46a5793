//! What something outside may do at each point.

use serde_json::{Map, Value};
use vertebra::{
    AgentState, Args, Attach as _, Cx, Guard, HookError, HookSet, Message, Point, Registration, narrow::Deciding,
};

/// What of an event an answer from outside may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Open {
    /// Nothing.
    Nothing,
    /// The arguments of the call.
    Args,
    /// These fields.
    Fields(&'static [&'static str]),
}

/// A point that something outside can stand at: all of them.
pub trait Outside: Point<State = AgentState> {
    /// What an answer may change.
    const OPEN: Open;

    /// Whether a guard can stand here.
    const DECIDES: bool;

    /// Puts this in place of what is open: of arguments all of them, of fields those that are named.
    fn replace(cx: &mut Cx<'_, Self>, with: &Map<String, Value>) -> Result<(), HookError>;

    /// Changes what is open as a JSON merge patch says.
    fn patch(cx: &mut Cx<'_, Self>, patch: &Map<String, Value>) -> Result<(), HookError>;

    /// Puts single arguments, or fields, in place of those there are.
    fn set(cx: &mut Cx<'_, Self>, with: Map<String, Value>) -> Result<(), HookError>;

    /// Tells the model something besides.
    fn add_context(cx: &mut Cx<'_, Self>, text: String);

    /// Adds a guard with these options; says whether one can stand here.
    fn attach_guard(set: &mut HookSet, site: Registration<Self, Deciding>, guard: impl Guard<Self>) -> bool;
}

/// Something to do at a point that is known by its name alone.
pub trait Visit {
    /// What comes of it.
    type Out;

    /// Does it.
    fn at<P: Outside>(self, point: P) -> Self::Out;
}

/// Where context for the model waits until the next step begins.
const CONTEXT: &str = "bridge/context";

/// Keeps a text for the model until the next step begins.
pub fn later_context(state: &mut AgentState, text: String) {
    let mut waiting = match state.metadata().get(CONTEXT) {
        Some(Value::Array(waiting)) => waiting.clone(),
        _ => Vec::new(),
    };
    waiting.push(text.into());
    state.metadata_mut().set(CONTEXT, waiting);
}

/// Takes the texts that wait.
pub fn take_context(state: &mut AgentState) -> Vec<String> {
    let waiting = state.metadata().read(CONTEXT).ok().flatten().unwrap_or_default();
    state.metadata_mut().remove(CONTEXT);
    waiting
}

/// Gives the model the texts that wait.
pub fn deliver_context(state: &mut AgentState, from: &str) {
    if state.metadata().get(CONTEXT).is_some() {
        for text in take_context(state) {
            state.push(Message::instruction(text, from));
        }
    }
}

macro_rules! outside {
    ($($point:ident { $open:ident $(($fields:expr))?, $context:ident, $role:ident })*) => {
        $(
            impl Outside for vertebra::$point {
                const OPEN: Open = Open::$open $(($fields))?;
                const DECIDES: bool = outside!(@decides $role);

                fn replace(cx: &mut Cx<'_, Self>, with: &Map<String, Value>) -> Result<(), HookError> {
                    outside!(@replace $open cx, with)
                }

                fn patch(cx: &mut Cx<'_, Self>, patch: &Map<String, Value>) -> Result<(), HookError> {
                    outside!(@patch $open cx, patch)
                }

                fn set(cx: &mut Cx<'_, Self>, with: Map<String, Value>) -> Result<(), HookError> {
                    outside!(@set $open cx, with)
                }

                fn add_context(cx: &mut Cx<'_, Self>, text: String) {
                    outside!(@$context cx, text);
                }

                fn attach_guard(set: &mut HookSet, site: Registration<Self, Deciding>, guard: impl Guard<Self>) -> bool {
                    outside!(@attach $role set, site, guard)
                }
            }
        )*

        /// Does something at the point of this name.
        pub fn at_point<V: Visit>(name: &str, visit: V) -> Option<V::Out> {
            $(if name == vertebra::$point::NAME {
                return Some(visit.at(vertebra::$point));
            })*
            None
        }
    };
    (@replace Args $cx:ident, $with:ident) => {{
        *$cx.args_mut() = arguments($with.clone())?;
        Ok(())
    }};
    (@replace Fields $cx:ident, $with:ident) => {{
        let changed = changed::<Self>(&**$cx, $with, |fields, with| fields.extend(with.clone()))?;
        **$cx = changed;
        Ok(())
    }};
    (@set Args $cx:ident, $with:ident) => {{
        for (name, value) in $with {
            $cx.args_mut().set(name, value);
        }
        Ok(())
    }};
    (@set Fields $cx:ident, $with:ident) => { Self::replace($cx, &$with) };
    (@patch Args $cx:ident, $patch:ident) => {{
        $cx.args_mut().patch($patch);
        Ok(())
    }};
    (@patch Fields $cx:ident, $patch:ident) => {{
        let changed = changed::<Self>(&**$cx, $patch, |fields, patch| {
            let mut args = arguments(std::mem::take(fields)).unwrap_or_default();
            args.patch(patch);
            *fields = args.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        })?;
        **$cx = changed;
        Ok(())
    }};
    (@$change:ident Nothing $cx:ident, $with:ident) => {{
        let _ = ($cx, $with);
        Err(HookError::new("nothing can be changed here"))
    }};
    (@prompt $cx:ident, $text:ident) => { $cx.add_context($text) };
    (@child $cx:ident, $text:ident) => {{
        $cx.prompt.push_str("\n\n");
        $cx.prompt.push_str(&$text);
    }};
    (@later $cx:ident, $text:ident) => { later_context($cx.state_mut(), $text) };
    (@decides guard) => { true };
    (@decides none) => { false };
    (@attach guard $set:ident, $site:ident, $guard:ident) => {{
        $set.add_guard($site, $guard);
        true
    }};
    (@attach none $set:ident, $site:ident, $guard:ident) => {{
        let _ = ($set, $site, $guard);
        false
    }};
}

const REQUEST: &[&str] =
    &["model", "system_prompt", "messages", "tools", "max_output_tokens", "temperature", "options"];

outside! {
    SessionStart { Fields(&["system_prompt"]), later, none }
    PromptSubmit { Fields(&["prompt", "context"]), prompt, guard }
    ExecutionStart { Nothing, later, guard }
    BeforeStep { Nothing, later, guard }
    BeforeInference { Fields(REQUEST), later, guard }
    InferenceDelta { Fields(&["text"]), later, guard }
    AfterInference { Fields(&["response"]), later, guard }
    BeforeToolUse { Args, later, guard }
    PermissionRequest { Nothing, later, guard }
    AfterToolUse { Fields(&["result"]), later, guard }
    ToolUseFailed { Nothing, later, guard }
    AfterStep { Nothing, later, guard }
    ShouldContinue { Nothing, later, guard }
    OnError { Nothing, later, guard }
    ExecutionEnd { Nothing, later, none }
    SessionEnd { Nothing, later, none }
    SubagentStart { Fields(&["prompt", "limits"]), child, guard }
    SubagentStop { Fields(&["text"]), later, none }
    BeforeCompact { Fields(&["instructions"]), later, guard }
    AfterCompact { Nothing, later, none }
    Notification { Nothing, later, none }
}

fn arguments(object: Map<String, Value>) -> Result<Args, HookError> {
    Args::try_from(Value::Object(object)).map_err(|_| HookError::new("arguments are an object"))
}

/// Returns the event with some of its fields changed.
fn changed<P: Outside>(
    event: &P::Event,
    change: &Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>, &Map<String, Value>),
) -> Result<P::Event, HookError> {
    let mut whole = (P::code().event_to_json)(event)?;
    if let Value::Object(fields) = &mut whole {
        make(fields, change);
    }
    Ok((P::code().event_from_json)(whole)?)
}
