//! Hooks as one writes them first: a map from event to boxed closures, each with a regex, over one mutable context.

use std::collections::HashMap;
use std::pin::Pin;

use regex::Regex;
use serde_json::Value;

/// What a hook can be registered for. Only the first one happens here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookEvent {
    PreToolUse,
    PostToolUse,
    UserPromptSubmit,
}

/// Everything a hook may read or change.
#[derive(Debug)]
pub struct HookContext {
    pub event: HookEvent,
    pub tool_name: String,
    pub tool_input: Value,
}

/// What the hooks say about a tool call. The strongest word wins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookResult {
    /// Nothing to say.
    #[default]
    None,
    Allow,
    Deny(String),
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type HookFn = Box<dyn for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, HookResult> + Send + Sync>;

/// One hook and the tools it is for; no pattern means all.
struct HookMatcher {
    pattern: Option<Regex>,
    hook: HookFn,
}

impl HookMatcher {
    fn matches(&self, tool_name: &str) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| pattern.is_match(tool_name))
    }
}

/// The hooks of every event, in the order of their registration.
#[derive(Default)]
pub struct HookRegistry {
    hooks: HashMap<HookEvent, Vec<HookMatcher>>,
}

impl HookRegistry {
    /// Adds a hook for every tool.
    pub fn add<F>(&mut self, event: HookEvent, hook: F)
    where
        F: for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, HookResult> + Send + Sync + 'static,
    {
        self.push(event, None, hook);
    }

    /// Adds a hook for the tools whose name matches a regex.
    pub fn add_with_pattern<F>(&mut self, event: HookEvent, pattern: &str, hook: F) -> Result<(), regex::Error>
    where
        F: for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, HookResult> + Send + Sync + 'static,
    {
        self.push(event, Some(Regex::new(pattern)?), hook);
        Ok(())
    }

    fn push<F>(&mut self, event: HookEvent, pattern: Option<Regex>, hook: F)
    where
        F: for<'a> Fn(&'a mut HookContext) -> BoxFuture<'a, HookResult> + Send + Sync + 'static,
    {
        self.hooks.entry(event).or_default().push(HookMatcher { pattern, hook: Box::new(hook) });
    }

    /// Runs the hooks that match, one after the other, until one denies.
    pub async fn run(&self, context: &mut HookContext) -> HookResult {
        let mut result = HookResult::None;
        for matcher in self.hooks.get(&context.event).into_iter().flatten() {
            if !matcher.matches(&context.tool_name) {
                continue;
            }
            match (matcher.hook)(context).await {
                HookResult::None => {}
                HookResult::Allow => result = HookResult::Allow,
                deny @ HookResult::Deny(_) => return deny,
            }
        }
        result
    }
}
