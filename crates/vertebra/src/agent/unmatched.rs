//! Hooks for tools that an agent does not have.

use vertebra_hooks::{HookInfo, Matcher, Reach, nearest};

use crate::{Agent, BuildError, PointInfo, Points};

impl Agent {
    /// Returns the tool patterns of hooks that no tool of this agent matches, each with the name of its hook.
    ///
    /// [`build`](crate::AgentBuilder::build) fails if a hook can never run because of one, unless the hook is
    /// [`optional`](vertebra_hooks::HookOptions::optional).
    pub fn unmatched_tools(&self) -> Vec<String> {
        let names = self.tool_names();
        let hooks = self.hooks().list();
        let unmatched = hooks.iter().flat_map(|hook| {
            let patterns = hook.matcher.iter().flat_map(|matcher| matcher.patterns_for("tool"));
            patterns
                .filter(|pattern| Matcher::name_pattern_holds(pattern, &names) == Some(false))
                .map(|pattern| format!("hook `{}` matches tool `{pattern}`, but no tool has that name", hook.name))
        });
        unmatched.collect()
    }

    /// Fails if a hook can never run because it is for tools that the agent does not have.
    ///
    /// An agent without tools may serve a loop that has them. A hook that children inherit may be for one of their tools.
    pub(super) fn check_tools(&self) -> Result<(), BuildError> {
        let names = self.tool_names();
        if names.is_empty() {
            return Ok(());
        }
        let delegates = self.tools().any(|tool| tool.delegates);
        let is_checked = |hook: &HookInfo| !(hook.optional || delegates && hook.reach == Reach::Children);
        for hook in self.hooks().list().iter().filter(|hook| is_checked(hook) && has_tools(hook.point)) {
            if let Some(pattern) = hook.matcher.as_ref().and_then(|matcher| unmatched(matcher, &names)) {
                let written = Matcher::names_listed(pattern).unwrap_or_default();
                let nearest = written.iter().find_map(|name| nearest(name, names.iter().copied()));
                return Err(BuildError::NoSuchTool {
                    hook: hook.name.clone(),
                    pattern: pattern.to_owned(),
                    nearest: nearest.map(str::to_owned),
                    known: names.iter().map(|name| (*name).to_owned()).collect(),
                });
            }
        }
        Ok(())
    }

    /// The names and the aliases of its tools.
    fn tool_names(&self) -> Vec<&str> {
        let names = self.tools().flat_map(|spec| std::iter::once(&spec.name).chain(&*spec.aliases));
        names.map(|name| &**name).collect()
    }
}

/// Whether the attribute `tool` is the tool of a call at this point. A program's own points may mean something else.
fn has_tools(point: &str) -> bool {
    let is_it = |row: &PointInfo| row.name == point && row.attributes.iter().any(|one| one.key == "tool");
    Points::default().iter().any(|point| is_it(point.row()))
}

/// The pattern because of which a matcher holds for no call of these tools. One with a wildcard is for tools of all names,
/// also of those that come with another version of a server.
fn unmatched<'m>(matcher: &'m Matcher, names: &[&str]) -> Option<&'m str> {
    match matcher {
        Matcher::Attribute { key, pattern } if key == "tool" => {
            let listed = Matcher::names_listed(pattern)?;
            let is_known = |name: &&str| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            (!listed.iter().any(is_known)).then_some(pattern)
        }
        Matcher::All(inner) => inner.iter().find_map(|inner| unmatched(inner, names)),
        Matcher::Any(inner) => {
            let all = inner.iter().map(|inner| unmatched(inner, names)).collect::<Option<Vec<_>>>()?;
            all.first().copied()
        }
        Matcher::Every(inner) => unmatched(inner, names),
        Matcher::Attribute { .. } | Matcher::Inside { .. } | Matcher::Metadata { .. } | Matcher::Not(_) => None,
    }
}
