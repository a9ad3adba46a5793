//! The index of matchers finds exactly what asking each matcher would find.

use proptest::prelude::*;
use serde_json::{Value, json};
use vertebra_hooks::{Attach, HookOptions, HookSet, Match, Matcher, Retries, Test, proceed};

use crate::world::{Call, Calling, Desk, fire_at, hooks};

fn matcher() -> impl Strategy<Value = Matcher> {
    let name = prop::sample::select(vec!["a", "b", "ab", "abc", "A", "x"]);
    let leaf = prop_oneof![
        4 => name.clone().prop_map(|name| Matcher::attribute("tool", name)),
        2 => (name.clone(), name.clone()).prop_map(|(a, b)| Matcher::attribute("tool", format!("{a}|{b}"))),
        2 => name.clone().prop_map(|name| Matcher::attribute("tool", format!("{name}*"))),
        1 => Just(Matcher::attribute("tool", "*")),
        2 => name.clone().prop_map(|name| Matcher::attribute("tool", format!("/{name}.?/"))),
        2 => name.clone().prop_map(|name| Matcher::attribute("command", format!("^{name}"))),
        2 => name.clone().prop_map(|name| Matcher::attribute("path", format!("*.{name}"))),
        2 => name.clone().prop_map(|name| Matcher::attribute("session", name)),
        1 => name.clone().prop_map(|name| Matcher::attribute("agent", name)),
        1 => name.clone().prop_map(|name| Matcher::attribute("step", name)),
        1 => name.clone().prop_map(|name| Matcher::Metadata { key: name.into(), is: Test::Exists }),
        1 => (name.clone(), name).prop_map(|(key, value)| {
            Matcher::inside("args", format!("/{key}"), Test::Equals(value.into()))
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Matcher::All),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Matcher::Any),
            inner.prop_map(Matcher::negated),
        ]
    })
}

fn event() -> impl Strategy<Value = (Call, Desk)> {
    let name = || prop::sample::select(vec!["a", "b", "ab", "abc", "A", "x", "y"]);
    let maybe = move || prop::option::of(name().prop_map(str::to_owned));
    let aliases = prop::collection::vec(name().prop_map(std::sync::Arc::from), 0..3);
    (name(), aliases, maybe(), maybe(), maybe(), maybe(), maybe(), name(), name()).prop_map(
        |(tool, aliases, command, path, session, agent, step, key, value)| {
            let call = Call {
                tool: tool.into(),
                aliases,
                commands: command.iter().map(|command| format!("{command} c")).collect(),
                command,
                further: Vec::new(),
                paths: path.iter().map(|path| format!("dir/f.{path}")).collect(),
                args: json!({ key: value }),
                session,
                agent,
                step,
            };
            let desk = Desk { metadata: [(value.to_owned(), json!(1))].into(), ..Desk::default() };
            (call, desk)
        },
    )
}

/// What the matcher means, for the patterns made above.
fn means(matcher: &Matcher, call: &Call, desk: &Desk) -> bool {
    let same = |told: &Option<String>, name: &str| told.as_deref().is_some_and(|told| told.eq_ignore_ascii_case(name));
    let text = |pattern: &str| pattern[1..].to_owned();
    match matcher {
        Matcher::Attribute { key, pattern } => match &**key {
            "tool" => std::iter::once(&*call.tool)
                .chain(call.aliases.iter().map(|alias| &**alias))
                .any(|tool| names(pattern, tool)),
            "command" => call.command.as_ref().is_some_and(|command| command.starts_with(&text(pattern))),
            "path" => call.paths.iter().any(|path| path.ends_with(&text(pattern))),
            "session" => call.session.as_ref() == Some(pattern),
            "agent" => same(&call.agent, pattern),
            "step" => same(&call.step, pattern),
            other => unreachable!("`{other}` is not made above"),
        },
        Matcher::Metadata { key, .. } => desk.metadata.contains_key(key),
        Matcher::Inside { at, is: Test::Equals(value), .. } => call.args.get(&at[1..]) == Some(value),
        Matcher::All(inner) => inner.iter().all(|one| means(one, call, desk)),
        Matcher::Any(inner) => inner.iter().any(|one| means(one, call, desk)),
        Matcher::Not(inner) => !means(inner, call, desk),
        Matcher::Inside { .. } | Matcher::Every(_) => unreachable!("not made above"),
    }
}

fn names(pattern: &str, tool: &str) -> bool {
    let (pattern, tool) = (pattern.to_lowercase(), tool.to_lowercase());
    if let Some(stem) = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix(".?/")) {
        return tool.strip_prefix(stem).is_some_and(|rest| rest.len() <= 1);
    }
    pattern.split('|').any(|name| match name.strip_suffix('*') {
        Some(stem) => tool.starts_with(stem),
        None => name == tool,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn many_matchers_together_find_what_each_alone_would(
        matchers in prop::collection::vec(matcher(), 1..20),
        (call, desk) in event(),
    ) {
        let mut set = HookSet::new();
        for (place, matcher) in matchers.iter().enumerate() {
            set.on(Calling.matching(matcher.clone()).named(place.to_string()), async |_| proceed());
        }
        let hooks = hooks(set);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let fired = runtime.block_on(fire_at(&hooks, call.clone(), desk.clone(), Retries::Allowed));
        let ran: Vec<_> = fired.outcome.record().hooks.iter().map(|trace| trace.hook.to_string()).collect();
        let meant: Vec<_> = (0..matchers.len())
            .filter(|place| means(&matchers[*place], &call, &desk))
            .map(|place| place.to_string())
            .collect();
        prop_assert_eq!(ran, meant);
    }

    #[test]
    fn a_matcher_reads_back_as_it_was_written(matcher in matcher()) {
        let json: Value = serde_json::to_value(&matcher).expect("a matcher serialises");
        prop_assert_eq!(serde_json::from_value::<Matcher>(json).expect("and comes back"), matcher);
    }
}

#[test]
fn a_matcher_is_an_object_with_one_field() {
    let matchers = [
        (Matcher::attribute("tool", "bash"), json!({ "tool": "bash" })),
        (Matcher::inside("args", "/force", Test::Exists), json!({ "args": { "at": "/force", "is": "exists" } })),
        (
            Matcher::Metadata { key: "mode".into(), is: Test::Equals("dry".into()) },
            json!({ "metadata": { "key": "mode", "is": { "equals": "dry" } } }),
        ),
        (
            Matcher::All(vec![Matcher::attribute("path", "*.rs"), Matcher::Any(vec![]).negated()]),
            json!({ "all": [{ "path": "*.rs" }, { "not": { "any": [] } }] }),
        ),
    ];
    for (matcher, written) in matchers {
        assert_eq!(serde_json::to_value(&matcher).expect("a matcher serialises"), written);
        assert_eq!(serde_json::from_value::<Matcher>(written).expect("and reads back"), matcher);
    }
    let error = serde_json::from_value::<Matcher>(json!({ "tool": "bash", "path": "a" })).expect_err("two fields");
    assert_eq!(error.to_string(), "a matcher has one field; put `path` into another, and both into `all`");
}
