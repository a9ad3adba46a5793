//! What something outside may do at each point.

use serde_json::{Map, Value};
use vertebra::{AgentState, AnyCx, Args, Changeable, ContextMode, HookError, Message};

/// Puts this in place of what is open: of arguments all of them, of fields those that are named.
pub(crate) fn replace(cx: &mut dyn AnyCx, with: &Map<String, Value>) -> Result<(), HookError> {
    match cx.point().changes {
        Changeable::Nothing => Err(nothing_to_change()),
        Changeable::Args => {
            *args_mut(cx)? = arguments(with.clone())?;
            Ok(())
        }
        Changeable::Fields(_) => change_fields(cx, with, |fields, with| fields.extend(with.clone())),
    }
}

/// Changes what is open as a JSON merge patch says.
pub(crate) fn patch(cx: &mut dyn AnyCx, patch: &Map<String, Value>) -> Result<(), HookError> {
    match cx.point().changes {
        Changeable::Nothing => Err(nothing_to_change()),
        Changeable::Args => {
            args_mut(cx)?.patch(patch);
            Ok(())
        }
        Changeable::Fields(_) => change_fields(cx, patch, |fields, patch| {
            let mut args = arguments(std::mem::take(fields)).unwrap_or_default();
            args.patch(patch);
            *fields = args.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        }),
    }
}

/// Puts single arguments, or fields, in place of those there are.
pub(crate) fn set(cx: &mut dyn AnyCx, with: Map<String, Value>) -> Result<(), HookError> {
    match cx.point().changes {
        Changeable::Nothing => Err(nothing_to_change()),
        Changeable::Args => {
            let args = args_mut(cx)?;
            for (name, value) in with {
                args.set(name, value);
            }
            Ok(())
        }
        Changeable::Fields(_) => replace(cx, &with),
    }
}

/// Gives the model a text: with the prompt, or when the next step begins.
pub(crate) fn tell_model(cx: &mut dyn AnyCx, text: String) {
    let later = match cx.point().context {
        ContextMode::Event => cx.add_context(text),
        ContextMode::NextStep => Some(text),
    };
    if let Some(text) = later {
        later_context(cx.state_mut(), text);
    }
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

fn nothing_to_change() -> HookError {
    HookError::new("nothing can be changed here")
}

fn args_mut(cx: &mut dyn AnyCx) -> Result<&mut Args, HookError> {
    cx.args_mut().ok_or_else(nothing_to_change)
}

fn arguments(object: Map<String, Value>) -> Result<Args, HookError> {
    Args::try_from(Value::Object(object)).map_err(|_| HookError::new("arguments are an object"))
}

/// Changes some fields of an event.
fn change_fields(
    cx: &mut dyn AnyCx,
    change: &Map<String, Value>,
    make: impl FnOnce(&mut Map<String, Value>, &Map<String, Value>),
) -> Result<(), HookError> {
    let mut whole = cx.event()?;
    if let Value::Object(fields) = &mut whole {
        make(fields, change);
    }
    cx.set_event(whole)
}
